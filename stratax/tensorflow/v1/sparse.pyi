from ._sparse import to_dense as to_dense
