"""Transform elements: one module or package for each operation of a Dataset."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
