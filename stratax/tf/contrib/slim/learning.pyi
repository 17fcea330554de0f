"""`tf.contrib.slim.learning`: steps of training (tf layer)."""

from stratax.tensorflow.contrib.slim_learning import *
