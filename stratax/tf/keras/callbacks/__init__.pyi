"""`tf.keras.callbacks`: Keras' callbacks (tf layer)."""

from keras.callbacks import *

from . import experimental as experimental
