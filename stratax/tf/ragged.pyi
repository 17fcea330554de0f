"""`tf.ragged` (tf layer)."""

from stratax.tensorflow.ops.arrays.ragged import boolean_mask as boolean_mask
from stratax.tensorflow.ops.arrays.ragged import constant as constant
from stratax.tensorflow.ops.arrays.ragged import cross as cross
from stratax.tensorflow.ops.arrays.ragged import map_flat_values as map_flat_values
from stratax.tensorflow.ops.arrays.ragged import range as range
from stratax.tensorflow.ops.arrays.ragged import row_splits_to_segment_ids as row_splits_to_segment_ids
from stratax.tensorflow.ops.arrays.ragged import segment_ids_to_row_splits as segment_ids_to_row_splits
from stratax.tensorflow.ops.arrays.ragged import stack as stack
from stratax.tensorflow.ops.arrays.ragged import stack_dynamic_partitions as stack_dynamic_partitions
