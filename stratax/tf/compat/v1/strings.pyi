"""`tf.compat.v1.strings`: functions of strings with TensorFlow 1's results (tf layer)."""

import stratax.tensorflow.ops.text.string_parts
from stratax.tf.strings import *

del split

split = stratax.tensorflow.ops.text.string_parts.split_to_sparse  # type: ignore[assignment]
