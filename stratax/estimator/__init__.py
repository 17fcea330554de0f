"""Estimator, its heads, hooks and canned models: the front door of `stratax.estimator`."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
