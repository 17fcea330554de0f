"""Trace a function: what it reads, takes and hands out, and how it is compiled."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
