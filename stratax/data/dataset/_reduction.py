"""The state of `Dataset.reduce` (data layer)."""

from typing import Any

import numpy as np

from stratax._typing import PyTree
from stratax.data.elements import TensorSpec, as_row, check_same, flatten, spec_of_row, unflatten
from stratax.data.vectorise import uses_jax

_WIDE = {"int32": "int64", "uint32": "uint64", "float32": "float64", "complex64": "complex128"}


class State:
    """What the function of a reduction takes and gives: of one structure, each part with one dtype and rank.

    A part that was given as an array on a device has 32 bits, whatever was asked for. The function says what it stands
    for: if it gives 64 bits, the part has them from then on.

    Args:
        initial: The first state.
    """

    def __init__(self, initial: object) -> None:
        self._leaves, self._structure = as_row(initial)
        self._specs = flatten(spec_of_row(self._leaves, self._structure))[0]
        self._is_on_device = [_is_on_device(leaf) for leaf in flatten(initial)[0]]

    def value(self) -> Any:
        """Return the state, as the function takes it."""
        return unflatten(self._structure, self._leaves)

    def follow(self, new: object) -> None:
        """Take the next state.

        Raises:
            DataError: If it is not like those before it.
        """
        leaves, structure = as_row(new)
        # Another structure is reported by the check below.
        if structure == self._structure:
            for index, leaf in enumerate(leaves):
                if self._is_on_device[index]:
                    self._specs[index], leaves[index] = _widened(self._specs[index], leaf)
        check_same(leaves, structure, unflatten(self._structure, self._specs), "The function given to reduce")
        self._leaves = leaves


def _widened(spec: PyTree, leaf: object) -> tuple[Any, Any]:
    """Return what a part is from now on, and the part, where one of them has twice the other's bits."""
    if not isinstance(spec, TensorSpec) or not isinstance(leaf, np.ndarray | np.generic):
        return spec, leaf
    old, new = str(spec.dtype), str(leaf.dtype)
    if _WIDE.get(old) == new:
        return TensorSpec(spec.shape, leaf.dtype), leaf
    return spec, leaf.astype(spec.dtype) if _WIDE.get(new) == old else leaf


def _is_on_device(leaf: object) -> bool:
    if not uses_jax():
        return False
    import jax

    return isinstance(leaf, jax.Array)
