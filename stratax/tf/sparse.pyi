from stratax.data import SparseTensor as SparseTensor
from stratax.v1.sparse import to_dense as to_dense
