"""Compiled programs, for packages that run them in a way of their own (core layer)."""

from stratax import _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
