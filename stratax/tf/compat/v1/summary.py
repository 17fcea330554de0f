"""`tf.compat.v1.summary`: summaries as values of a step (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
