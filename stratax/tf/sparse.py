"""`tf.sparse` (tf layer)."""

from stratax.data import SparseTensor as SparseTensor
from stratax.data import sparse_to_dense as to_dense
from stratax.tf._names import missing_name

__all__ = [
    "SparseTensor",
    "to_dense",
]
__getattr__ = missing_name(__name__, __all__)
