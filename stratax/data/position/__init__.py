"""Read elements from a position on that can be saved: cursors, and what reads ahead of them."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
