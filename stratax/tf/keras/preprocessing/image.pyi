from keras.preprocessing.image import *

from stratax.seams.keras2 import DirectoryIterator as DirectoryIterator
from stratax.seams.keras2 import ImageDataGenerator as ImageDataGenerator
from stratax.seams.keras2 import Iterator as Iterator
from stratax.seams.keras2 import NumpyArrayIterator as NumpyArrayIterator
from stratax.seams.keras2 import apply_affine_transform as apply_affine_transform
from stratax.seams.keras2 import apply_brightness_shift as apply_brightness_shift
from stratax.seams.keras2 import apply_channel_shift as apply_channel_shift
from stratax.seams.keras2 import random_brightness as random_brightness
from stratax.seams.keras2 import random_channel_shift as random_channel_shift
from stratax.seams.keras2 import random_rotation as random_rotation
from stratax.seams.keras2 import random_shear as random_shear
from stratax.seams.keras2 import random_shift as random_shift
from stratax.seams.keras2 import random_zoom as random_zoom
