from stratax.tensorflow.contrib.compiler_jit import *
