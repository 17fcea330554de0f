"""Trace loops, conditions and prints: into the program, or into parts of it that the host drives."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
