"""What programs import of `tensorflow.python.estimator.canned.optimizers` (tf layer)."""

from stratax.tensorflow.estimator.canned import get_optimizer_instance as get_optimizer_instance
