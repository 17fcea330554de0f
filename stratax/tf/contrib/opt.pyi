"""`tf.contrib.opt`: further optimizers (tf layer)."""

from stratax.tensorflow.v1.contrib_opt import *
