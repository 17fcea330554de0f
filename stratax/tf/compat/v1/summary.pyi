"""`tf.compat.v1.summary`: summaries as values of a step (tf layer)."""

from stratax.tensorflow.v1.summary import *
