"""`tf.contrib.summary`: summaries of functions on the host, as in host calls (tf layer)."""

from stratax.tensorflow.v1.contrib_summary import *
