"""TensorFlow 1's graphs: named nodes that stand for what is computed, and sessions that compute them (graph layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
