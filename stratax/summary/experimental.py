"""The step of summaries, and what summaries of other kinds are made with (summary layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
