from stratax.tensorflow.contrib.slim_utils import *
