"""Know of a traced value what its trace already says: constants, marks, ranges, text."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
