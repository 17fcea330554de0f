"""`tf.contrib.predictor`: functions that compute what an export serves (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
