"""Objects with state on the host, for the packages above."""

from stratax import _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
