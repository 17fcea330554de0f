"""What Keras 3 keeps of Keras 2's `keras.preprocessing`, but not under its own name (seams layer).

A file of its own: importing it may import Keras, after which `seams.keras2` has to be whole.
"""

from keras.src.legacy.preprocessing.image import DirectoryIterator as DirectoryIterator
from keras.src.legacy.preprocessing.image import ImageDataGenerator as ImageDataGenerator
from keras.src.legacy.preprocessing.image import Iterator as Iterator
from keras.src.legacy.preprocessing.image import NumpyArrayIterator as NumpyArrayIterator
from keras.src.legacy.preprocessing.image import apply_affine_transform as apply_affine_transform
from keras.src.legacy.preprocessing.image import apply_brightness_shift as apply_brightness_shift
from keras.src.legacy.preprocessing.image import apply_channel_shift as apply_channel_shift
from keras.src.legacy.preprocessing.image import random_brightness as random_brightness
from keras.src.legacy.preprocessing.image import random_channel_shift as random_channel_shift
from keras.src.legacy.preprocessing.image import random_rotation as random_rotation
from keras.src.legacy.preprocessing.image import random_shear as random_shear
from keras.src.legacy.preprocessing.image import random_shift as random_shift
from keras.src.legacy.preprocessing.image import random_zoom as random_zoom
from keras.src.legacy.preprocessing.sequence import TimeseriesGenerator as TimeseriesGenerator
from keras.src.legacy.preprocessing.sequence import make_sampling_table as make_sampling_table
from keras.src.legacy.preprocessing.sequence import skipgrams as skipgrams
from keras.src.legacy.preprocessing.text import Tokenizer as Tokenizer
from keras.src.legacy.preprocessing.text import hashing_trick as hashing_trick
from keras.src.legacy.preprocessing.text import one_hot as one_hot
from keras.src.legacy.preprocessing.text import text_to_word_sequence as text_to_word_sequence
from keras.src.legacy.preprocessing.text import tokenizer_from_json as tokenizer_from_json
