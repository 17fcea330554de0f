"""`tf.contrib.slim.parallel_reader`: the files that patterns name."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
