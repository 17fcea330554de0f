"""`tf.contrib.slim.parallel_reader`: the files that patterns name (tf layer)."""

from stratax.tensorflow.contrib.parallel_reader import *
