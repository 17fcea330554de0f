from stratax.tensorflow.contrib.tensorrt import *
