"""`tf.lookup.experimental` (tf layer)."""

from stratax.tensorflow.ops.tables.mutable_tables import DenseHashTable as DenseHashTable
from stratax.tensorflow.ops.tables.mutable_tables import MutableHashTable as MutableHashTable
