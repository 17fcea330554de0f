"""`tf.contrib.seq2seq`: decoders, attention, beam search (tf layer)."""

from stratax.tensorflow.contrib.seq2seq import *
