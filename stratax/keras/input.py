"""What Keras' loop takes as its input, for the packages above."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
