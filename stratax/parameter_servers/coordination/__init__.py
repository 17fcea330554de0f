"""A coordinator and its workers: steps are scheduled, run on any worker, and run again if one dies (distribute layer).

Follows `tf.distribute.coordinator`.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
