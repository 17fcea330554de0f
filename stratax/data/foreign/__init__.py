"""Take the data loaders and data sets of other libraries as a Dataset."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
