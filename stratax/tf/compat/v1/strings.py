"""`tf.compat.v1.strings`: functions of strings with TensorFlow 1's results (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
