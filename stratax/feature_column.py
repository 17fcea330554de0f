"""What models make of features: the front door of `stratax.tensorflow.feature_column`."""

from stratax import _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
