"""`tf.contrib.compiler.xla`: functions that are compiled (tf layer)."""

from stratax.tensorflow.contrib.compiler_xla import *
