"""Iterate over a plan: `DatasetIterator`, and streams of elements in compiled functions."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
