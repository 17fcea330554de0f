from stratax.tensorflow.v1.contrib_layers import *
