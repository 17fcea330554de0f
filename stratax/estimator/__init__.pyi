from stratax.tensorflow.estimator import *
