"""`tf.keras.layers.experimental.preprocessing`: what is `tf.keras.layers` now (tf layer)."""

from keras.layers import CategoryEncoding as CategoryEncoding
from keras.layers import CenterCrop as CenterCrop
from keras.layers import Discretization as Discretization
from keras.layers import Normalization as Normalization
from keras.layers import RandomContrast as RandomContrast
from keras.layers import RandomCrop as RandomCrop
from keras.layers import RandomFlip as RandomFlip
from keras.layers import RandomRotation as RandomRotation
from keras.layers import RandomTranslation as RandomTranslation
from keras.layers import RandomZoom as RandomZoom
from keras.layers import Rescaling as Rescaling
from keras.layers import Resizing as Resizing

from stratax.tensorflow.keras2.layers import PreprocessingLayer as PreprocessingLayer
from stratax.tensorflow.keras2.lookups import HashedCrossing as HashedCrossing
from stratax.tensorflow.keras2.lookups import Hashing as Hashing
from stratax.tensorflow.keras2.lookups import IntegerLookup as IntegerLookup
from stratax.tensorflow.keras2.lookups import StringLookup as StringLookup
from stratax.tensorflow.keras2.text import TextVectorization as TextVectorization
