from stratax.tensorflow.estimator.hooks import *
