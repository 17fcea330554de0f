"""`tf.keras.preprocessing.image`: Keras' functions for images, and Keras 2's generators (tf layer)."""

from keras.preprocessing.image import *

from stratax.seams.keras_preprocessing import DirectoryIterator as DirectoryIterator
from stratax.seams.keras_preprocessing import ImageDataGenerator as ImageDataGenerator
from stratax.seams.keras_preprocessing import Iterator as Iterator
from stratax.seams.keras_preprocessing import NumpyArrayIterator as NumpyArrayIterator
from stratax.seams.keras_preprocessing import apply_affine_transform as apply_affine_transform
from stratax.seams.keras_preprocessing import apply_brightness_shift as apply_brightness_shift
from stratax.seams.keras_preprocessing import apply_channel_shift as apply_channel_shift
from stratax.seams.keras_preprocessing import random_brightness as random_brightness
from stratax.seams.keras_preprocessing import random_channel_shift as random_channel_shift
from stratax.seams.keras_preprocessing import random_rotation as random_rotation
from stratax.seams.keras_preprocessing import random_shear as random_shear
from stratax.seams.keras_preprocessing import random_shift as random_shift
from stratax.seams.keras_preprocessing import random_zoom as random_zoom
