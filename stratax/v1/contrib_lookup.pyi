import stratax.ops.lookup
from stratax.ops.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from stratax.ops.lookup import TextFileIndex as TextFileIndex
from stratax.ops.lookup import TextFileInitializer as TextFileInitializer
from stratax.ops.lookup import index_table_from_file as index_table_from_file
from stratax.ops.lookup import index_table_from_tensor as index_table_from_tensor
from stratax.ops.lookup import index_to_string_table_from_tensor as index_to_string_table_from_tensor

HashTable = stratax.ops.lookup.StaticHashTable
