from stratax.tensorflow.v1.app import *
