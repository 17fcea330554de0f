"""Settings of devices and of JAX under TensorFlow's names, for `tf.config` (cluster layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
