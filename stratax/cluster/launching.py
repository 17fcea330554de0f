"""Launching tasks and printing what launches them, for other packages of Stratax (cluster layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
