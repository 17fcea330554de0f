"""`tf.contrib.slim.nets`: nets of images (tf layer)."""

from . import inception as inception
