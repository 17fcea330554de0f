"""`IndexedSlices`: some rows of a tensor (core layer)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import known


@jax.tree_util.register_pytree_node_class
class IndexedSlices:
    """Rows of a tensor and which ones they are, as `tf.IndexedSlices`; rows of one index add up.

    Gradients here are dense, so that nothing returns it; variables' `scatter_add` and its like take it, and
    `tf.convert_to_tensor` and all array functions make it dense.

    Args:
        values: The rows, of shape `[n, ...]`.
        indices: Which rows they are, of shape `[n]`.
        dense_shape: The shape of the whole tensor, without which it can't be made dense.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Any:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Any:
        """Which rows they are."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> Any:
        """The shape of the whole tensor as a tuple, or None."""
        return None if self._dense_shape is None else tuple(_sizes(self._dense_shape))

    def joined(self, values: object, indices: object) -> "IndexedSlices":
        """Return other rows of the same tensor."""
        return IndexedSlices(values, indices, self._dense_shape)

    @property
    def dtype(self) -> Any:
        """The rows' dtype."""
        return self._values.dtype

    def __neg__(self) -> "IndexedSlices":
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __jax_array__(self) -> jax.Array:
        if self.shape is None:
            raise errors.BadArgumentError(
                "IndexedSlices without dense_shape can't become a tensor. Expected: the shape of the whole tensor. "
                f"Received: {shown(self)}. Pass dense_shape=."
            )
        values = jnp.asarray(self._values)
        return jnp.zeros(self.shape, values.dtype).at[jnp.asarray(self._indices)].add(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.__jax_array__(), dtype)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Take it apart as JAX does."""
        return (self._values, self._indices), self.shape

    @classmethod
    def tree_unflatten(cls, shape: object, children: tuple[Any, ...]) -> "IndexedSlices":
        """Put it together again."""
        values, indices = children
        return cls(values, indices, shape)

    def __repr__(self) -> str:
        return (
            f"IndexedSlices(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"
        )


def _sizes(dense_shape: object) -> Any:
    """Return a shape that may be a tensor of the function that is traced: a constant."""
    parts = list(dense_shape) if isinstance(dense_shape, list | tuple) else [dense_shape]
    if not any(isinstance(part, jax.core.Tracer) for part in parts):
        return np.asarray(dense_shape).tolist()
    try:
        return np.ravel([np.asarray(known.constant_of(part)) for part in parts]).tolist()
    except LookupError as error:
        raise errors.BadArgumentError(
            "The dense_shape of IndexedSlices depends on what only the running program knows. Expected: sizes that are "
            f"known while it is traced. Received: dense_shape={shown(dense_shape)}. Use the shape of an array."
        ) from error
