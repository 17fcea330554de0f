"""`tf.contrib.quantize`: graphs with whole numbers, which are refused (tf layer)."""

from stratax.tensorflow.contrib.quantize import *
