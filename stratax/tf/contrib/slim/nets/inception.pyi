from stratax.tensorflow.contrib.inception import *
