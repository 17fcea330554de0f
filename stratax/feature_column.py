"""What models make of features: the front door of `stratax.feature_column`."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
