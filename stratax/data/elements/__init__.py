"""Describe a Dataset's elements: specs, structures, arrays, blocks of rows, and draws that belong to an element."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
