"""`tf.contrib.learn.utils.saved_model_export_utils`: exports of experiments (tf layer)."""

from stratax.tensorflow.contrib._learn import make_export_strategy as make_export_strategy
