"""`tf.keras.preprocessing`: images, sequences and text as Keras 2 prepares them (tf layer)."""

from keras.preprocessing import *

from . import image as image
from . import sequence as sequence
from . import text as text
