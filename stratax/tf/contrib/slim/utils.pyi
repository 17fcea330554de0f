"""`tf.contrib.slim.utils`: results of layers by name (tf layer)."""

from stratax.tensorflow.contrib.slim_utils import *
