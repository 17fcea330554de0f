"""`tf.contrib.cloud`: tables and files of Google's, which are refused (tf layer)."""

from stratax.tensorflow.contrib.cloud import *
