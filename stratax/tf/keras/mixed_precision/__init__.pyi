from keras.mixed_precision import *

from . import experimental as experimental
