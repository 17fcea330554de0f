from keras.utils import *

from stratax.keras2.layers import to_ordinal as to_ordinal
