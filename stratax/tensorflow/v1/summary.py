"""`tf.compat.v1.summary`: summaries as values of a step, and what writes them (v1 layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
