"""`tf.contrib.eager.metrics`: means that are called with batches (tf layer)."""

from stratax.tensorflow.contrib.eager_metrics import *
