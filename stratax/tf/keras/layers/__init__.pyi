from keras.layers import *

from stratax.feature_column import DenseFeatures as DenseFeatures
from stratax.keras2.exported import TFSMLayer as TFSMLayer
from stratax.keras2.layers import AbstractRNNCell as AbstractRNNCell
from stratax.keras2.layers import ThresholdedReLU as ThresholdedReLU
from stratax.keras2.lookups import Hashing as Hashing
from stratax.keras2.lookups import IntegerLookup as IntegerLookup
from stratax.keras2.lookups import StringLookup as StringLookup
from stratax.keras2.text import TextVectorization as TextVectorization

from . import experimental as experimental
