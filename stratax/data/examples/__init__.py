"""Parsing of `tf.train.Example` and the tensors that it holds."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
