"""`tf.contrib.learn.preprocessing`: documents as rows of word ids (tf layer)."""

from stratax.tensorflow.contrib.text import *
