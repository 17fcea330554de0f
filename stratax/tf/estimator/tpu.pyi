"""`tf.estimator.tpu`: TPUEstimator and what belongs to it."""

from stratax.tensorflow.estimator.tpu import *
