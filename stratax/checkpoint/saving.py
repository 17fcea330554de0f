"""What checkpoints have in common, for what reads and converts those of other programs."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
