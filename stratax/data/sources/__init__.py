"""Give elements that no other node gives: arrays, ranges, generators, and files of records."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
