"""TensorFlow's checkpoints made into those of Stratax, and into models."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
