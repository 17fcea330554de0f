"""`tf.contrib.learn.datasets`: arrays with labels (tf layer)."""

from stratax.tensorflow.contrib._mnist import load_mnist as load_mnist

from . import base as base
from . import mnist as mnist
