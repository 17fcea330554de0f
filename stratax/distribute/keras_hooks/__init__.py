"""Where Keras on JAX asks for a strategy: gradients that are applied or accumulated, losses that are averaged."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
