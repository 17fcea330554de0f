"""`tf.contrib.compiler.xla`: functions that are compiled (tf layer)."""

from stratax.tensorflow.contrib._compiler import compile as compile
