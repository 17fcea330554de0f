"""Record what is computed, and differentiate it: tapes, gradients of functions, gradients of one's own."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
