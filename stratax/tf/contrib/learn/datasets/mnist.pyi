"""`tf.contrib.learn.datasets.mnist`: digits in batches (tf layer)."""

from stratax.tensorflow.contrib.mnist import *
