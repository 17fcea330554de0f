from stratax.tensorflow.contrib.distribute import *
