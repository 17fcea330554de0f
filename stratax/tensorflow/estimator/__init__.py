"""TensorFlow 1's Estimator: a `model_fn`, trained, evaluated and asked for predictions by one object.

Layer: above `stratax.v1`, below the names of `stratax.tf`.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
