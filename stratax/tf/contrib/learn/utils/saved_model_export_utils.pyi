"""`tf.contrib.learn.utils.saved_model_export_utils`: exports of experiments (tf layer)."""

from stratax.tensorflow.contrib.export_utils import *
