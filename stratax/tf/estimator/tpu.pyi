from stratax.estimator.tpu import *
