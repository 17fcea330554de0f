"""Call a function once for a whole block of elements where a proof says that it may be."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
