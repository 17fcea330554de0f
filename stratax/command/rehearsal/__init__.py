"""Compile programs for TPUs that aren't there, and say what they would take (rehearsal layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
