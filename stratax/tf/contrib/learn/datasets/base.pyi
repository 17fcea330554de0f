"""`tf.contrib.learn.datasets.base`: arrays with labels (tf layer)."""

from stratax.tensorflow.contrib.datasets import *
