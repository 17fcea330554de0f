"""Reach the values of variables, say where they are, and hand them to programs."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
