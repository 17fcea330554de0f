"""Estimators with a model of their own: linear ones, deep ones, both together, and a baseline (estimator layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
