"""`tf.contrib.eager`: what programs that compute at once used (tf layer)."""

from stratax.tensorflow.contrib.eager import *

from . import metrics as metrics
