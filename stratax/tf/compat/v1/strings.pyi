import stratax.tensorflow.ops.string_parts
from stratax.tf.strings import *

del split

split = stratax.tensorflow.ops.string_parts.split_to_sparse  # type: ignore[assignment]
