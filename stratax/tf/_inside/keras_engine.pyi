"""What programs import of Keras 2's `engine` and the modules below it (tf layer)."""

import keras.utils
from keras import *

get_source_inputs = keras.utils.get_source_inputs
