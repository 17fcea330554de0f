from stratax.tensorflow.v1.layers import *
