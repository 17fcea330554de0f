"""Saving and restoring the state of a program: checkpoints, their folders, and saving when a machine is taken away.

Layer: above `stratax.data`, below `stratax.distribute`. `stratax.train` is the front door.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
