"""Tables of numbers in compiled functions: the part of `tf.lookup` that a device can compute (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.core import host
from stratax.data import RaggedTensor, SparseTensor
from stratax.data.elements import map_flat
from stratax.tensorflow.ops.calls.dtypes import as_dtype


def is_for_device(keys: TensorLike, key_dtype: np.dtype, value_dtype: np.dtype) -> bool:
    """Return whether keys are numbers that a compiled program computes, in a table that has numbers as values."""
    parts = [keys.values] if isinstance(keys, SparseTensor) else [keys]
    parts = [keys.flat_values] if isinstance(keys, RaggedTensor) else parts
    return all(map(is_traced, parts)) and "O" not in (key_dtype.kind, value_dtype.kind)


def on_device(function: Callable[[Any], Any], keys: TensorLike) -> Any:
    """Apply a function of traced keys to an array of them, or to the values of a SparseTensor or RaggedTensor."""
    if isinstance(keys, SparseTensor):
        return SparseTensor.of_parts((keys.indices, function(keys.values), keys.dense_shape))
    return map_flat(function, keys) if isinstance(keys, RaggedTensor) else function(keys)


class SortedKeys:
    """A table's keys in order with their values, in which a program finds those that it computes.

    Args:
        keys: Whole numbers or fractions, each once.
        values: As many numbers.
        default: The value of other keys.

    Raises:
        BadArgumentError: A value is no number of the dtype that devices have in its place.
    """

    def __init__(self, keys: np.ndarray, values: np.ndarray, default: object) -> None:
        import jax

        kind = jax.dtypes.canonicalize_dtype(keys.dtype)
        # Keys that devices can't represent are found by nobody.
        kept = np.flatnonzero(keys.astype(kind) == keys)
        order = kept[np.argsort(keys[kept], kind="stable")]
        self._dtype = jax.dtypes.canonicalize_dtype(values.dtype)
        self._keys, self._values = keys[order].astype(kind), fitting(values[order], self._dtype)
        self._default = fitting(np.asarray(default, values.dtype), self._dtype)

    def find(self, keys: Array) -> Any:
        """Return the values of traced keys, in their shape."""
        import jax.numpy as jnp

        if not len(self._keys):
            return jnp.full(keys.shape, self._default)
        # A key beyond all others gets the last place, and does not equal what is there.
        places = jnp.searchsorted(self._keys, keys).clip(0, len(self._keys) - 1)
        return jnp.where(
            jnp.asarray(self._keys)[places] == keys, jnp.asarray(self._values)[places], self._default
        )


def check_kind(keys: Any, dtype: np.dtype) -> None:
    """Check that keys are what a table has: text, whole numbers, or others.

    Raises:
        BadTypeError: They are of another kind.
    """
    kinds = "O" if dtype.kind == "O" else "iu" if dtype.kind in "iu" else dtype.kind
    if keys.dtype.kind not in kinds:
        raise errors.BadTypeError(
            f"A table was asked for keys of another kind. Expected: {_name_of(dtype)}. Received: keys of "
            f"{_name_of(keys.dtype)}: {shown(keys)}. Convert them, as with tf.cast or tf.strings.as_string."
        )


def _name_of(dtype: np.dtype) -> str:
    return "string" if dtype.kind == "O" else as_dtype(dtype).name


def find_by_host(
    function: Callable[[np.ndarray], np.ndarray], keys: Any, dtype: DTypeLike, shape: tuple[int, ...] = ()
) -> Any:
    """Return what the host finds each time that the program runs.

    Args:
        function: From keys to values.
        keys: Traced keys.
        dtype: The values' dtype.
        shape: The shape of each value.
    """
    import jax

    kind = jax.dtypes.canonicalize_dtype(dtype)
    made = jax.ShapeDtypeStruct((*keys.shape, *shape), kind)
    return host.call_on_host(lambda given: [fitting(function(given), kind)], [keys], [made])[0]


def fitting(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Return numbers in a dtype of devices.

    Raises:
        BadArgumentError: One is no number of that dtype.
    """
    made = values.astype(dtype)
    # Fractions may be rounded, whole numbers may not.
    if dtype.kind in "iu" and not np.array_equal(made, values):
        raise errors.BadArgumentError(
            f"A table has values that devices can't represent. Expected: numbers of {dtype}. Received: "
            f"{shown(values[made != values].tolist() if values.ndim else values.item())}. Look them up on the host."
        )
    return made
