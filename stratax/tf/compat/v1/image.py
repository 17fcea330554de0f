"""`tf.compat.v1.image`: functions of images with TensorFlow 1's arguments (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
