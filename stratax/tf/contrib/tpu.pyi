"""`tf.contrib.tpu`: TPUEstimator and what belongs to it."""

from stratax.tensorflow.contrib._keras_tpu import TPUDistributionStrategy as TPUDistributionStrategy
from stratax.tensorflow.contrib._keras_tpu import keras_to_tpu_model as keras_to_tpu_model
from stratax.tensorflow.estimator.tpu import *
