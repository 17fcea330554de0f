"""`tf.contrib.rnn`: recurrent cells and nets (tf layer)."""

from stratax.tensorflow.contrib.rnn import *
