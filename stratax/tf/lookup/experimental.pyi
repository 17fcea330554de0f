from stratax.ops.mutable_tables import DenseHashTable as DenseHashTable
from stratax.ops.mutable_tables import MutableHashTable as MutableHashTable
