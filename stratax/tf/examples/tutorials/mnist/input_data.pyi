from stratax.tensorflow.contrib.mnist import *
