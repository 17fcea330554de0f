from stratax.tensorflow.contrib.seq2seq import *
