"""`tensorflow.examples.tutorials` (tf layer)."""

from . import mnist as mnist
