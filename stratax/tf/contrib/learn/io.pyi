from stratax.tensorflow.estimator.inputs import *
