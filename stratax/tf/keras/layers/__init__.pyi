"""`tf.keras.layers`: Keras' layers, and some of Keras 2 (tf layer)."""

import keras.layers
from keras.layers import *

from stratax.feature_column import DenseFeatures as DenseFeatures
from stratax.tensorflow.keras2.exported import TFSMLayer as TFSMLayer
from stratax.tensorflow.keras2.layers import AbstractRNNCell as AbstractRNNCell
from stratax.tensorflow.keras2.layers import Input as Input
from stratax.tensorflow.keras2.layers import ThresholdedReLU as ThresholdedReLU
from stratax.tensorflow.keras2.lookups import HashedCrossing as HashedCrossing
from stratax.tensorflow.keras2.lookups import Hashing as Hashing
from stratax.tensorflow.keras2.lookups import IntegerLookup as IntegerLookup
from stratax.tensorflow.keras2.lookups import StringLookup as StringLookup
from stratax.tensorflow.keras2.text import TextVectorization as TextVectorization

from . import experimental as experimental

# Keras chooses the kernel.
CuDNNGRU = keras.layers.GRU
CuDNNLSTM = keras.layers.LSTM
