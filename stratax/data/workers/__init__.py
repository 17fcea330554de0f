"""Call the function of a `map` in worker processes, over shared memory."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
