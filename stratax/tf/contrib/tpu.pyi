"""`tf.contrib.tpu`: TPUEstimator and what belongs to it."""

from stratax.tensorflow.contrib.keras_tpu import *
from stratax.tensorflow.estimator.tpu import *
