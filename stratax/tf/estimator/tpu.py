"""`tf.estimator.tpu`: TPUEstimator and what belongs to it."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
