"""`tf.contrib.slim.nets.inception`: Inception V3 (tf layer)."""

from stratax.tensorflow.contrib.inception import *
