import stratax.tensorflow.ops.tables.lookup
from stratax.tensorflow.ops.tables.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from stratax.tensorflow.ops.tables.lookup import TextFileIndex as TextFileIndex
from stratax.tensorflow.ops.tables.lookup import TextFileInitializer as TextFileInitializer
from stratax.tensorflow.ops.tables.lookup import index_table_from_file as index_table_from_file
from stratax.tensorflow.ops.tables.lookup import index_table_from_tensor as index_table_from_tensor
from stratax.tensorflow.ops.tables.lookup import (
    index_to_string_table_from_file as index_to_string_table_from_file,
)
from stratax.tensorflow.ops.tables.lookup import (
    index_to_string_table_from_tensor as index_to_string_table_from_tensor,
)

HashTable = stratax.tensorflow.ops.tables.lookup.StaticHashTable
