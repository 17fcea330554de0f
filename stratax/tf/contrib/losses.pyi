"""`tf.contrib.losses`: `tf.losses`, under the older name (tf layer)."""

from stratax.tensorflow.v1.losses import *
