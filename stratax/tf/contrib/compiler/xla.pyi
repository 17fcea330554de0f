from stratax.tensorflow.contrib.compiler_xla import *
