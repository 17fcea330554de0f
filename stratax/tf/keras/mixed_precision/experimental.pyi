"""`tf.keras.mixed_precision.experimental`: policies as TensorFlow 2.3 writes them (tf layer)."""

import keras.mixed_precision
from keras.mixed_precision import LossScaleOptimizer as LossScaleOptimizer

from stratax.tensorflow.keras2.policies import Policy as Policy

global_policy = keras.mixed_precision.global_policy
set_policy = keras.mixed_precision.set_global_policy
