"""`tf.contrib.distribute`: what TensorFlow 1 had there and TensorFlow 2 has elsewhere, or not at all (tf layer)."""

from stratax.tensorflow.contrib.distribute import *
