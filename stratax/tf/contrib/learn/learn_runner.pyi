"""`tf.contrib.learn.learn_runner`: runs an experiment (tf layer)."""

from stratax.tensorflow.contrib._learn import run as run
