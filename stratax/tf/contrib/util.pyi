"""`tf.contrib.util`: arrays as messages, and what is known of tensors (tf layer)."""

import stratax.tensorflow.ops.arrays.static_values
from stratax.tensorflow.ops.arrays.tensor_protos import make_ndarray as make_ndarray
from stratax.tensorflow.ops.arrays.tensor_protos import make_tensor_proto as make_tensor_proto

constant_value = stratax.tensorflow.ops.arrays.static_values.get_static_value
