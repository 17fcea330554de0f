from stratax.tensorflow.contrib.rnn import *
