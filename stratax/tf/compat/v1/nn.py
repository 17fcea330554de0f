"""`tf.compat.v1.nn`: losses and non-linearities with TensorFlow 1's arguments (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
