from stratax.tensorflow.contrib.slim_learning import *
