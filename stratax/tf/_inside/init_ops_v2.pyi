"""What programs import of `tensorflow.python.ops.init_ops_v2` (tf layer)."""

from keras.initializers import *
