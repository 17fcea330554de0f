"""`tf.contrib.summary`: summaries of functions on the host, as in host calls (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
