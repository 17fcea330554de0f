"""`tf.contrib.keras.api`: where `tf.contrib.keras` says its names are made (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
