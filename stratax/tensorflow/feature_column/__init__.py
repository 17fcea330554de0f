"""Feature columns: what models make of features, strings among them, as `tf.feature_column`."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
