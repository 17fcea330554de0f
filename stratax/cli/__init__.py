"""The `stratax` command (top layer): what is here, and a demonstration."""

from stratax import _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
