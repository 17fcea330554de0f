"""`tf.contrib.crf`: linear-chain conditional random fields (tf layer)."""

from stratax.tensorflow.contrib.crf import *
