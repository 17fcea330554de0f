from stratax.tensorflow.contrib.cloud import *
