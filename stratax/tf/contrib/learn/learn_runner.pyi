"""`tf.contrib.learn.learn_runner`: runs an experiment (tf layer)."""

from stratax.tensorflow.contrib.learn_runner import *
