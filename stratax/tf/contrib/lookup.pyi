"""`tf.contrib.lookup` (tf layer)."""

import stratax.tensorflow.ops.tables.lookup
import stratax.tensorflow.ops.tables.mutable_tables
from stratax.tensorflow.ops.tables.mutable_tables import MutableHashTable as MutableHashTable
from stratax.tensorflow.v1.contrib_lookup import *

MutableDenseHashTable = stratax.tensorflow.ops.tables.mutable_tables.DenseHashTable
string_to_index_table_from_file = stratax.tensorflow.ops.tables.lookup.index_table_from_file
