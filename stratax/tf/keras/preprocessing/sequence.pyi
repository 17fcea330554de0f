from keras.preprocessing.sequence import *

from stratax.seams.keras2 import TimeseriesGenerator as TimeseriesGenerator
from stratax.seams.keras2 import make_sampling_table as make_sampling_table
from stratax.seams.keras2 import skipgrams as skipgrams
