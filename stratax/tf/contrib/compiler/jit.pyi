"""`tf.contrib.compiler.jit`: where programs are compiled (tf layer)."""

from stratax.tensorflow.contrib._compiler import experimental_jit_scope as experimental_jit_scope
