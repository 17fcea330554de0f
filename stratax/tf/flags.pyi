"""`tf.flags`: flags of the command line (tf layer)."""

from stratax.tensorflow.v1.flags import *
