"""`tf.contrib.learn.datasets`: arrays with labels (tf layer)."""

from stratax.tensorflow.contrib._mnist import DATASETS as DATASETS
from stratax.tensorflow.contrib._mnist import load_dataset as load_dataset
from stratax.tensorflow.contrib._mnist import load_mnist as load_mnist

from . import base as base
from . import mnist as mnist
