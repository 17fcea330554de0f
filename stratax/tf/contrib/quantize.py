"""`tf.contrib.quantize`: graphs with whole numbers, which are refused (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
