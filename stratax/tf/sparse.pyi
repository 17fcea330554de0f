import stratax.data
from stratax.data import SparseTensor as SparseTensor

to_dense = stratax.data.sparse_to_dense
