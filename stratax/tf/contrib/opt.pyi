from stratax.tensorflow.v1.contrib_opt import *
