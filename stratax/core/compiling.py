"""Compiled programs, shown to whoever wants to see them before they run (core layer)."""

from stratax import _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
