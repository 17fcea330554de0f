"""What programs import of `tensorflow.python.layers.utils` (tf layer)."""

import stratax.tensorflow.ops.arrays.static_values
import stratax.tensorflow.ops.control.flow

constant_value = stratax.tensorflow.ops.arrays.static_values.get_static_value
smart_cond = stratax.tensorflow.ops.control.flow.cond
