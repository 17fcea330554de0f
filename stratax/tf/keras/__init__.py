"""`tf.keras`: Keras 3, and what TensorFlow 2.15 has there besides (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
