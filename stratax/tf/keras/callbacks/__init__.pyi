from keras.callbacks import *

from . import experimental as experimental
