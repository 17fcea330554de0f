"""`tf.contrib.learn.utils.input_fn_utils`: what a served model is fed (tf layer)."""

from stratax.tensorflow.contrib.input_fn_utils import *
