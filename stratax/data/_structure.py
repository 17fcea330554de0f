"""Elements as structures of leaves: flattening, naming, conversion to NumPy (data layer).

Tuples, namedtuples, dicts and None are structure, as in TensorFlow; a list is data and becomes an array.
JAX' pytrees do the work (they start no device).
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from stratax.data._spec import DatasetSpec, Nested, TensorSpec
from stratax.errors import DataError

Structure = Any
"""A `jax.tree_util.PyTreeDef` (which type checkers take for untyped)."""
Row = list[Any]
"""The leaves of one element, in the order of its structure."""

_SINGLE = jax.tree_util.tree_structure(0)


def _is_leaf(value: Any) -> bool:
    return isinstance(value, list)


def flatten(value: Any) -> tuple[Row, Structure]:
    """The leaves of `value` and what puts them together again; a list counts as a leaf."""
    return jax.tree_util.tree_flatten(value, is_leaf=_is_leaf)


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The value whose leaves were taken apart by :func:`flatten`."""
    return jax.tree_util.tree_unflatten(structure, leaves)


def leaf_names(structure: Structure) -> list[str]:
    """A readable name for every leaf: `element['image']`, `element[1]`, or `element` if there is one only."""
    value = unflatten(structure, list(range(structure.num_leaves)))
    paths, _ = jax.tree_util.tree_flatten_with_path(value)
    return ["element" + jax.tree_util.keystr(path) for path, _ in paths]


def as_array(value: Any) -> Any:
    """A leaf as a NumPy array or scalar on the host.

    Python floats become float32 and Python integers int32 (int64 where they don't fit), as in TensorFlow; arrays of
    NumPy, JAX or Keras keep their dtype.
    """
    if isinstance(value, np.ndarray | np.generic | Nested):
        return value
    try:
        array = np.asarray(value)
    except ValueError as e:
        raise DataError(
            f"A component of an element has to be an array or a number. Received: component={value!r}, which "
            f"NumPy can't make an array of ({e}). Make the nested lists equally long, or pass a tuple of arrays."
        ) from e
    if array.dtype == object and not hasattr(value, "dtype"):
        raise DataError(
            f"A component of an element has to be an array, a number or a string. Received: component={value!r} of "
            f"type {type(value).__name__}. Convert it to a NumPy array first."
        )
    if not hasattr(value, "dtype"):
        array = _as_tensorflow_would(array)
    return array if array.ndim else array[()]


def _as_tensorflow_would(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def as_row(value: Any) -> tuple[Row, Structure]:
    """The leaves of one element as NumPy arrays, and its structure."""
    if isinstance(value, np.ndarray | np.generic):
        return [value], _SINGLE
    leaves, structure = flatten(value)
    return [as_array(leaf) for leaf in leaves], structure


def spec_of_row(row: Row, structure: Structure) -> Any:
    """The structure of specs that describes one element."""
    return unflatten(structure, [spec_of_leaf(leaf) for leaf in row])


def spec_of_leaf(leaf: Any) -> TensorSpec | DatasetSpec:
    """The spec of one component: of an array, or of an inner Dataset."""
    if isinstance(leaf, Nested):
        return DatasetSpec(leaf.element_spec)
    return TensorSpec.from_array(leaf)


def check_same(row: Row, structure: Structure, spec: Any, where: str) -> None:
    """Raises unless an element has the structure, dtypes and ranks (known sizes may differ) of `spec`.

    Args:
        row: Leaves of the element.
        structure: Structure of the element.
        spec: Structure of TensorSpec that earlier elements had.
        where: Who made the element, for the message.

    Raises:
        DataError: The two differ; the message names both.
    """
    specs, expected = flatten(spec)
    if structure != expected:
        raise DataError(
            f"{where} gave elements of different structure. Expected, as before: {spec!r}. "
            f"Received: element={spec_of_row(row, structure)!r}. Return the same structure for every element."
        )
    for leaf, want, name in zip(row, specs, leaf_names(structure), strict=True):
        have = spec_of_leaf(leaf)
        if isinstance(want, DatasetSpec) or isinstance(have, DatasetSpec):
            continue
        ranks_differ = want.shape is not None and len(want.shape) != len(have.shape or ())
        if have.dtype != want.dtype or ranks_differ:
            raise DataError(
                f"{where} gave elements of different {'shape rank' if ranks_differ else 'dtype'}. Expected, as "
                f"before: {name}={want!r}. Received: {name}={have!r}. Return the same for every element, for "
                "instance with an explicit dtype."
            )
