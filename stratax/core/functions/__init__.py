"""Make stateful Python functions programs: `Function`, its signatures, its concrete functions."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
