from stratax.tensorflow.contrib.training import *
