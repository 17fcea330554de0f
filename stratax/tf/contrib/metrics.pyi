"""`tf.contrib.metrics`: metrics whose predictions come first (tf layer)."""

from stratax.tensorflow.v1.contrib_metrics import *
