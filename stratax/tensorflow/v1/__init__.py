"""How TensorFlow 1 writes a model: what stands in a `model_fn`, which an Estimator traces and runs."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
