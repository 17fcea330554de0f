"""`tf.contrib.layers`, layers whose defaults an argument scope may change (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
