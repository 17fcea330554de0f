import stratax.tensorflow.ops.text.string_parts
from stratax.tf.strings import *

del split

split = stratax.tensorflow.ops.text.string_parts.split_to_sparse  # type: ignore[assignment]
