from stratax.tensorflow.v1 import *
