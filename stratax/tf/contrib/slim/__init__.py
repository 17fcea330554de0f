"""`tf.contrib.slim`: contrib's layers, scopes, variables and losses under one name (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
