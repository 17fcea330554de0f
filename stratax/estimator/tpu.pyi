from stratax.tensorflow.estimator.tpu import *
