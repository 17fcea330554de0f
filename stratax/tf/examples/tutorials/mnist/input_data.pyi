"""`tensorflow.examples.tutorials.mnist.input_data`: digits in batches (tf layer)."""

from stratax.tensorflow.contrib.mnist import *
