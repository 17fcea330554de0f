"""`tensorflow.examples.tutorials.mnist` (tf layer)."""

from . import input_data as input_data
from . import mnist as mnist
