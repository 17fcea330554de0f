"""What `fit` takes where workers run its training steps; the execution of its strategy asks for it."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
