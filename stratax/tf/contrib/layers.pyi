"""`tf.contrib.layers`, layers whose defaults an argument scope may change (tf layer)."""

from stratax.tensorflow.contrib.layers import *
