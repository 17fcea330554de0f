"""Checkpoints: saving the state of a program, restoring it, and what to do when a machine is taken away."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
