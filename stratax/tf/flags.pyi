from stratax.tensorflow.v1.flags import *
