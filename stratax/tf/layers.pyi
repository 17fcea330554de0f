"""`tf.layers`: layers as TensorFlow 1 writes them (tf layer)."""

from stratax.tensorflow.v1.layers import *
