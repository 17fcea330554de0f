"""`tf.contrib.compiler.jit`: where programs are compiled (tf layer)."""

from stratax.tensorflow.contrib.compiler_jit import *
