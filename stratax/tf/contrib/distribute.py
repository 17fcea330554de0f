"""`tf.contrib.distribute`: what TensorFlow 1 had there and TensorFlow 2 has elsewhere, or not at all (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
