import stratax.v1._lookup

from ._lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from ._lookup import TextFileIndex as TextFileIndex
from ._lookup import TextFileInitializer as TextFileInitializer
from ._lookup import index_table_from_file as index_table_from_file
from ._lookup import index_table_from_tensor as index_table_from_tensor
from ._lookup import index_to_string_table_from_tensor as index_to_string_table_from_tensor

HashTable = stratax.v1._lookup.StaticHashTable
