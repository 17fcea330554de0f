"""Batches of sparse matrices as the arrays that replicas divide among them (keras layer)."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from stratax.data import SparseTensor, sparse_to_dense
from stratax.seams import keras as seam


def dense_batches(adapter: seam.DataAdapter) -> Iterator[Any]:
    """Iterate over an adapter's batches with SciPy's and JAX' sparse matrices as NumPy arrays.

    Keras' own iterator leaves them as they are, and a sparse matrix can't be divided by its rows.
    """
    for batch in adapter.get_numpy_iterator():
        yield jax.tree.map(_dense, batch, is_leaf=_is_sparse)


def dense_arrays(batch: object) -> Any:
    """Return a batch with SparseTensors as NumPy arrays, for the same reason."""
    return jax.tree.map(as_dense, batch, is_leaf=lambda leaf: isinstance(leaf, SparseTensor))


def as_dense(leaf: object) -> Any:
    """Return a SparseTensor as an array, everything else as it is."""
    return sparse_to_dense(leaf) if isinstance(leaf, SparseTensor) else leaf


def _is_sparse(leaf: object) -> bool:
    return seam.data_adapter_utils.is_scipy_sparse(leaf) or seam.data_adapter_utils.is_jax_sparse(leaf)


def _dense(leaf: Any) -> Any:
    if seam.data_adapter_utils.is_scipy_sparse(leaf):
        return leaf.toarray()
    return np.asarray(leaf.todense()) if seam.data_adapter_utils.is_jax_sparse(leaf) else leaf
