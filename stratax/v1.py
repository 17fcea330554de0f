"""How TensorFlow 1 writes a model: the front door of `stratax.v1`."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
