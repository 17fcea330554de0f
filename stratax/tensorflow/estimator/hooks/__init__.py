"""Hooks: what hangs on an Estimator's training, evaluation and prediction (estimator layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
