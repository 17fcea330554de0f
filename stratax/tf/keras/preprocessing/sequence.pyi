"""`tf.keras.preprocessing.sequence`: padding, and Keras 2's generators (tf layer)."""

from keras.preprocessing.sequence import *

from stratax.seams.keras_preprocessing import TimeseriesGenerator as TimeseriesGenerator
from stratax.seams.keras_preprocessing import make_sampling_table as make_sampling_table
from stratax.seams.keras_preprocessing import skipgrams as skipgrams
