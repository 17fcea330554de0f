from stratax.tensorflow.estimator.export import *
