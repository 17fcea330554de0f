"""What programs import of `tensorflow.python.framework.tensor_util` (tf layer)."""

import stratax.tensorflow.ops.arrays.static_values
from stratax.tensorflow.ops.calls.creation import is_tensor as is_tensor

constant_value = stratax.tensorflow.ops.arrays.static_values.get_static_value
