"""`tf.keras.mixed_precision.experimental`: policies as TensorFlow 2.3 writes them (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
