"""`tf.contrib.cloud`: tables and files of Google's, which are refused."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
