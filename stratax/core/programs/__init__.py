"""Run what was traced: programs, the loops of theirs that the host drives, what they are cut into."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
