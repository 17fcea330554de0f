"""`tf.contrib.util`: arrays as messages, and what is known of tensors (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
