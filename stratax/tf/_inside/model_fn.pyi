"""What programs import of `tensorflow.python.estimator.model_fn` (tf layer)."""

import stratax.tensorflow.estimator.tpu._spec
from stratax.tf.estimator import *

_TPUEstimatorSpec = stratax.tensorflow.estimator.tpu._spec.TPUEstimatorSpec
