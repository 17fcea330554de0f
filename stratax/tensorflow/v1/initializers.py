"""`tf.initializers`: what gives variables their first values, under TensorFlow 1's names (v1 layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
