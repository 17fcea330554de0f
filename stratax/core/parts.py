"""Values of variables that belong to one party each, for other packages of Stratax (core layer)."""

from stratax import _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
