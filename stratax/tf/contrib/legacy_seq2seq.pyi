"""`tf.contrib.legacy_seq2seq`: decoders over lists of steps (tf layer)."""

from stratax.tensorflow.contrib._legacy_seq2seq import rnn_decoder as rnn_decoder
from stratax.tensorflow.contrib._legacy_seq2seq import sequence_loss as sequence_loss
from stratax.tensorflow.contrib._legacy_seq2seq import sequence_loss_by_example as sequence_loss_by_example
