"""`tf.contrib.saved_model`: models of Keras in folders (tf layer)."""

from stratax.tensorflow.contrib.saved_model import *
