from stratax.tensorflow.v1.summary import *
