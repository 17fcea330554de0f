"""`tf.app`: how a program begins (tf layer)."""

from stratax.tensorflow.v1.app import *
