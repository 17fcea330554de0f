from stratax.tensorflow.contrib.layers import *
