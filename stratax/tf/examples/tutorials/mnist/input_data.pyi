"""`tensorflow.examples.tutorials.mnist.input_data`: digits in batches (tf layer)."""

from stratax.tf.contrib.learn.datasets.mnist import *
