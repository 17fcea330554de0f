"""Make stateful Python functions programs: `Function`, its signatures, its concrete functions."""

from stratax import _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
