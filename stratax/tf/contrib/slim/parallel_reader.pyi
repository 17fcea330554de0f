from stratax.tensorflow.contrib.parallel_reader import *
