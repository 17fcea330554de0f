"""`tf.keras.mixed_precision`: policies of dtypes (tf layer)."""

from keras.mixed_precision import *

from . import experimental as experimental
