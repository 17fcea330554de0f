"""Hand values to Python while a program runs, and learn what failed there."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
