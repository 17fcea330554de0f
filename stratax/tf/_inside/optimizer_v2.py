"""What programs import of `tensorflow.python.keras.optimizer_v2` (tf layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
