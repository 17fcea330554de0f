"""`tf.contrib.predictor`: functions that compute what an export serves (tf layer)."""

from stratax.tensorflow.contrib.predictor import *
