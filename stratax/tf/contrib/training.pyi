"""`tf.contrib.training`: settings, and steps of training (tf layer)."""

from stratax.tensorflow.contrib.training import *
