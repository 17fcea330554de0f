from stratax.tensorflow.contrib.quantize import *
