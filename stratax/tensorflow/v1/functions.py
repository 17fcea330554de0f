"""Array functions of `tf.compat.v1` that have other arguments in TensorFlow 2 (v1 layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
