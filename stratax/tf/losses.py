"""`tf.losses`: TensorFlow 1's functions; TensorFlow 2's are in `tf.keras.losses` (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
