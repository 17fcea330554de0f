"""`tf.keras.optimizers`: Keras' optimizers (tf layer)."""

from keras.optimizers import *

from . import experimental as experimental
from . import legacy as legacy
