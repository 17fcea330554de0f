"""Canned estimators as TensorFlow 1 has them: a loss is a sum, and metrics are its own (estimator layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
