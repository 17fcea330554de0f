"""`tf.keras.layers.experimental.preprocessing`: what is `tf.keras.layers` now (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
