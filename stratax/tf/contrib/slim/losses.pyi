from stratax.tensorflow.v1.losses import *
