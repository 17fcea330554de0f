"""Heads: what a model makes of its logits, from predictions to the training operation (estimator layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
