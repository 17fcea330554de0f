"""What programs import of `tensorflow.python.util.function_utils` (tf layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
