"""`tf.compat.v1.estimator`: Estimators whose heads sum losses and have TensorFlow 1's metrics (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
