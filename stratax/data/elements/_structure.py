"""Elements as structures of leaves: flattening, naming, conversion to NumPy (data layer).

Tuples, namedtuples, dicts and None are structure, as in TensorFlow; a list is data and becomes an array, but for one
that a function returns: its parts are the components. Structure are also values of classes that `attrs` has made, of
classes that take themselves apart by TensorFlow's protocol (`__tf_flatten__` and `__tf_unflatten__`, dataclasses
mostly), and of those that a program registered as pytrees with JAX. optree does the work, because pipelines and their
worker processes need no JAX.
"""

import collections
import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optree

from stratax.base import pytrees
from stratax.base.shown import cut, shown
from stratax.base.tracing import TRACING
from stratax.base.typing import TensorLike
from stratax.core import regions
from stratax.data.elements._array import Count, ElementArray
from stratax.data.elements._composite import NAMESPACE, Composite, map_parts
from stratax.data.elements._spec import Nested
from stratax.data.elements._text import as_plain, encode_text, without_tensors
from stratax.errors import DataError

# An `optree.PyTreeSpec`; two are equal if the same leaves stand in the same places (keys of a dict in any order).
Structure = Any
# The leaves of one element, in the order of its structure.
Row = list[Any]

_SINGLE = optree.tree_structure(0, namespace=NAMESPACE)


def _is_data(value: object) -> bool:
    return isinstance(value, list | Composite | collections.deque)


def flatten(value: object, is_leaf: Callable[[Any], bool] = _is_data) -> tuple[Row, Structure]:
    """Separate the leaves of `value` from what puts them together again; by default lists and Composites are leaves."""
    leaves, structure = optree.tree_flatten(value, is_leaf, namespace=NAMESPACE)
    # Leaves of types that the program registered with JAX since the last element.
    unknown: dict[type, Any] = {}
    for leaf in leaves:
        if type(leaf) is not np.ndarray and _is_node(leaf) and not is_leaf(leaf):
            unknown[type(leaf)] = leaf
    if not unknown:
        return leaves, structure
    for leaf in unknown.values():
        _adopt(leaf)
    return flatten(value, is_leaf)


def shapes_in(structure: Structure, shapes: object) -> list[Any] | None:
    """Return the shapes that stand in the places of a structure's leaves, whatever they are made of.

    A tuple of numbers is one shape in the place of a leaf, and one shape for each leaf in that of a tuple of leaves.

    Args:
        structure: The structure.
        shapes: A structure of shapes; a number is the shape of a vector.

    Returns:
        None if the structure is not that of the shapes.
    """
    try:
        listed: list[Any] = structure.flatten_up_to(shapes)
    except (TypeError, ValueError):
        return None
    return None if any(isinstance(shape, Mapping) for shape in listed) else listed


def _is_node(leaf: object) -> bool:
    """Return whether a value's class, or the program to JAX, if it uses JAX at all, says that it is structure."""
    # The usual leaves first: this is asked for every element.
    if isinstance(leaf, np.ndarray | np.generic | int | float | list):
        return False
    # A class of any kind: mypy takes `type[object]` for not hashable.
    kind: Any = type(leaf)
    if _parts_of(kind) is not None:
        return True
    if "jax" not in sys.modules:
        return False
    from jax import tree_util

    return not tree_util.all_leaves([leaf])


@functools.cache
def _parts_of(kind: type) -> "tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any, Any], Any]] | None":
    """Return how values of a class are taken apart and put together, if the class itself says it."""
    if hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__"):

        def to_parts(value: Any) -> tuple[Any, Any]:
            constant, parts = value.__tf_flatten__()
            return parts, constant

        return to_parts, _unflatten_of(kind)
    fields = getattr(kind, "__attrs_attrs__", None)
    if fields is None:
        return None
    names = [field.name for field in fields]

    def of_parts(_: object, parts: Any) -> Any:
        # Without its converters and validators, which expect what a user gives.
        made: Any = object.__new__(kind)
        for name, part in zip(names, parts, strict=True):
            object.__setattr__(made, name, part)
        return made

    return lambda value: ([getattr(value, name) for name in names], None), of_parts


def _unflatten_of(kind: Any) -> Callable[[Any, Any], Any]:
    """Return how a class puts its values together: by a method of the class, or as TensorFlow calls it, of a value."""
    found = inspect.getattr_static(kind, "__tf_unflatten__")
    if isinstance(found, classmethod | staticmethod):
        return kind.__tf_unflatten__  # type: ignore[no-any-return]
    # TensorFlow calls it on the value that was taken apart, of which there is none here.
    return lambda constant, parts: kind.__tf_unflatten__(object.__new__(kind), constant, parts)


def _adopt(example: object) -> None:
    """Take the values of a type apart as the type says, or JAX."""
    kind: Any = type(example)
    own = _parts_of(kind)
    if own is not None:
        # Another thread may have been quicker.
        with contextlib.suppress(ValueError):
            optree.register_pytree_node(type(example), *own, namespace=NAMESPACE)
            pytrees.register(type(example), *own)
        return
    from jax import tree_util

    def to_parts(value: object) -> tuple[list[Any], Any]:
        return tree_util.tree_flatten(value, is_leaf=lambda part: part is not value)

    # Another thread may have been quicker.
    with contextlib.suppress(ValueError):
        optree.register_pytree_node(type(example), to_parts, tree_util.tree_unflatten, namespace=NAMESPACE)


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """Return the value whose leaves were taken apart by :func:`flatten`."""
    return optree.tree_unflatten(structure, leaves)


def names_of_fields(structure: Structure) -> set[str] | None:
    """Return the names of fields of its namedtuples; None if it has a type that is registered as structure."""
    if structure.kind == optree.PyTreeKind.CUSTOM:
        return None
    is_named = structure.kind == optree.PyTreeKind.NAMEDTUPLE
    names = set(structure.type._fields) if is_named else set()
    for part in structure.children():
        inner = names_of_fields(part)
        if inner is None:
            return None
        names |= inner
    return names


def leaf_names(structure: Structure) -> list[str]:
    """Return a readable name for every leaf: `element['image']`, `element[1]`, or `element` if there is one only."""
    return [accessor.codify("element") for accessor in structure.accessors()]


def as_array(value: object) -> Any:
    """Return a leaf as a NumPy array or scalar on the host; a string as `bytes`, or an object array of them.

    Python floats become float32 and Python integers int32 (int64 where they don't fit), as in TensorFlow; arrays of
    NumPy, JAX or Keras keep their dtype. Text becomes UTF-8.
    """
    if isinstance(value, bytes):
        return value[:]
    # None where an integer does not fit int32.
    if type(value) in _SCALARS and (scalar := _SCALARS[type(value)](value)) is not None:
        return scalar
    if isinstance(value, ElementArray):
        return as_plain(value)
    if isinstance(value, Count):
        return value.numpy()
    if isinstance(value, np.ndarray | np.generic):
        return value if value.dtype.kind not in "USO" else _as_strings(value)
    # A Dataset is a component as it is.
    if isinstance(value, Nested):
        return value
    if isinstance(value, str):
        return value.encode()
    try:
        # JAX's arrays are fetched from their device here.
        array = np.asarray(without_tensors(value))
    except TypeError as e:
        if not TRACING.get():
            raise
        raise regions.PythonOnlyError(
            "A dataset is made of a value that a compiled function computes, or is given, and that has no content "
            f"while it is traced. Received: {shown(value)}. Make the dataset outside of the function and pass it, or "
            "go through the array itself: `for row in array`."
        ) from e
    except ValueError as e:
        raise DataError(
            f"A component of an element has to be an array or a number. Received: component={shown(value)}, which "
            f"NumPy can't make an array of ({cut(str(e))}). Make the nested lists equally long, or pass a tuple "
            "of arrays."
        ) from e
    if array.dtype.kind in "USO":
        # NumPy cuts zero bytes off the ends of byte strings unless they stay objects.
        return _as_strings(np.array(value, dtype=object), value)
    # Only Python's own numbers take TensorFlow's default dtypes.
    if not hasattr(value, "dtype"):
        array = (
            _as_tensorflow_would(array) if (dtype := _dtype_in(value)) is None else _pack(array, dtype, value)
        )
    # NumPy's scalars hash and print as numbers.
    return array if array.ndim else array[()]


def _dtype_in(value: Any) -> np.dtype | None:
    """Return the dtype of the elements' components in nested lists; None if there are none."""
    found: np.dtype | None = None
    kinds = set(map(type, value)) if isinstance(value, list | tuple | collections.deque) else set()
    if not any(issubclass(kind, ElementArray | list | tuple) for kind in kinds):
        return None
    for part in value:
        dtype = part.dtype if isinstance(part, ElementArray) else _dtype_in(part)
        if {found, dtype} == {np.dtype(np.int32), np.dtype(np.int64)}:
            found = dtype = np.dtype(np.int64)  # A constant that comes from a device is int32.
        if None not in (found, dtype) and found != dtype:
            raise DataError(
                f"The parts of a list that becomes an array need one dtype. Received: {found} and {dtype} in "
                f"{shown(value)}. Return a tuple, whose parts keep their dtypes, or convert them with tf.cast."
            )
        found = dtype if found is None else found
    return found


def _pack(array: np.ndarray, dtype: np.dtype, value: object) -> np.ndarray:
    """Pack components and constants side by side: constants take the dtype, as in TensorFlow."""
    if array.dtype.kind == "f" and dtype.kind in "iub":
        raise DataError(
            f"The parts of a list that becomes an array need one dtype. Received: {dtype} beside fractions in "
            f"{shown(value)}. Return a tuple, whose parts keep their dtypes, or convert them with tf.cast."
        )
    return array.astype(dtype)


def _as_int32(value: int) -> np.int32 | None:
    return np.int32(value) if -(1 << 31) <= value < 1 << 31 else None


# A short way for what functions often return.
_SCALARS: dict[type, Callable[[Any], Any]] = {bool: np.bool_, float: np.float32, int: _as_int32}


def _as_strings(array: TensorLike, value: object = None) -> Any:
    """Return an array of text, byte strings or objects with every string as `bytes`."""
    array = np.asarray(array)
    texts = encode_text(array)
    if texts is None:
        value = array if value is None else value
        raise DataError(
            "A component of an element has to be an array, a number or a string. Received: "
            f"component={shown(value)} of "
            f"type {type(value).__name__}. Convert it to a NumPy array of numbers or strings first."
        )
    return texts if texts.ndim else texts[()]


def _as_tensorflow_would(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        # As TensorFlow: int32 unless a number does not fit.
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def as_components(value: object) -> Any:
    """Return what a function has returned as an element: a list is a tuple of components, as in TensorFlow."""
    return tuple(value) if isinstance(value, list) else value


def as_row(value: object) -> tuple[Row, Structure]:
    """Return the leaves of one element as NumPy arrays, and its structure."""
    if isinstance(value, np.ndarray | np.generic | bytes | int | float):
        return [as_array(value)], _SINGLE
    leaves, structure = flatten(value)
    # Most are arrays already, of numbers, and this is done for every element.
    return [
        leaf if type(leaf) is np.ndarray and leaf.dtype.kind not in "USO" else _as_leaf(leaf)
        for leaf in leaves
    ], structure


def _as_leaf(leaf: object) -> Any:
    return leaf.on_host() if isinstance(leaf, Composite) else as_array(leaf)


def copy_leaf(leaf: object) -> Any:
    """Return a copy of a component, which may be written to; text and Datasets never change."""
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    return map_parts(copy_leaf, leaf) if isinstance(leaf, Composite) else leaf
