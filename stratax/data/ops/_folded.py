"""The state that `reduce`, `scan` and reducers of groups hand from element to element (data layer)."""

import base64
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    Composite,
    Row,
    TensorSpec,
    as_components,
    as_dtype,
    as_element,
    as_objects,
    as_row,
    box,
    check_same,
    decode_boxed,
    element_scope,
    encode_columns,
    flatten,
    spec_of_row,
    unflatten,
)
from stratax.data.ops._trial import zeros_of
from stratax.data.plan import Node, find_first
from stratax.data.vectorise import keep_variables, on_host, uses_jax
from stratax.errors import BadTypeError, DataError

_WIDE = {"int32": "int64", "uint32": "uint64", "float32": "float64", "complex64": "complex128"}


class Folded:
    """What the function of a reduction takes and gives: of one structure, each part with one dtype.

    A part that was given as an array on a device has 32 bits, whatever was asked for. The function says what it stands
    for: if it gives 64 bits, the part has them from then on.

    Args:
        initial: The first state.
        name: What gives the following ones, for messages.
    """

    def __init__(self, initial: object, name: str = "The function given to reduce") -> None:
        self._name = name
        self._leaves, self._structure = as_row(initial)
        self._specs = flatten(spec_of_row(self._leaves, self._structure))[0]
        self._is_on_device = [_is_on_device(leaf) for leaf in flatten(initial)[0]]

    def value(self) -> Any:
        """Return the state, of NumPy arrays."""
        return unflatten(self._structure, self._leaves)

    def argument(self) -> Any:
        """Return the state as a function of a pipeline takes it."""
        return unflatten(self._structure, [as_element(leaf) for leaf in self._leaves])

    def encode_state(self) -> list[list[str]]:
        """Return the state as a position can hold it: for each part its dtype and its content."""
        return [[_name_of(leaf), _encode(leaf)] for leaf in self._leaves]

    def restore(self, saved: list[list[str]]) -> None:
        """Go back to a state that :meth:`saved` gave."""
        self._leaves = [
            _decode(TensorSpec(None, as_dtype(name)) if name else spec, content)
            for spec, (name, content) in zip(self._specs, saved, strict=True)
        ]

    def widen_like(self, other: "Folded") -> None:
        """Give parts that come from a device 64 bits where a later state has them.

        Args:
            other: What the function has made of the same first state.
        """
        for index, spec in enumerate(other._specs):
            if self._is_on_device[index] and _WIDE.get(str(self._specs[index].dtype)) == str(spec.dtype):
                self._specs[index] = TensorSpec(self._specs[index].shape, spec.dtype)
                self._leaves[index] = self._leaves[index].astype(spec.dtype)

    def follow(self, new: object) -> None:
        """Take the next state.

        Raises:
            BadTypeError: If it is not like those before it.
        """
        # A list stands for an array where the state is one, else for its components.
        leaves, structure = as_row(new if self._structure.num_children == 0 else as_components(new))
        # Another structure is reported by the check below.
        if structure == self._structure:
            for index, leaf in enumerate(leaves):
                if self._is_on_device[index]:
                    self._specs[index], leaves[index] = _widen(self._specs[index], leaf)
        # The rank may grow or shrink, as in TensorFlow.
        expected = unflatten(self._structure, [_of_any_shape(spec) for spec in self._specs])
        check_same(leaves, structure, expected, self._name, BadTypeError)
        self._leaves = leaves


def _of_any_shape(spec: object) -> Any:
    return TensorSpec(None, spec.dtype) if type(spec) is TensorSpec else spec


def _widen(spec: PyTree, leaf: object) -> tuple[Any, Any]:
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

    # A list is an array.
    return any(map(_is_on_device, leaf)) if isinstance(leaf, list) else isinstance(leaf, jax.Array)


def argument_of(element: PyTree) -> Any:
    """Return an element as a function of a pipeline takes it, whole."""
    leaves, structure = flatten(element)
    return unflatten(structure, [as_element(leaf) for leaf in leaves])


def leaf_dtype(leaf: Any) -> np.dtype:
    """Return the dtype of a component; `object` of a byte string."""
    return np.dtype(object) if isinstance(leaf, bytes) else leaf.dtype


def _name_of(leaf: object) -> str:
    # That of a composite is in its spec.
    return "" if isinstance(leaf, Composite) else leaf_dtype(leaf).name


def _encode(leaf: object) -> str:
    column = as_objects([leaf]) if isinstance(leaf, bytes | Composite) else np.asarray(leaf)[None]
    return base64.b64encode(encode_columns(box([column]), 1)[1][0]).decode("ascii")


def _decode(spec: PyTree, content: str) -> Any:
    return decode_boxed([base64.b64decode(content)], [spec]).row(0)[0]


def find_spec(node: Node, operation: str, spec_of: Callable[[Row], Any]) -> Any:
    """Return the spec of what an operation makes of a node's first element.

    Args:
        node: The node.
        operation: What errors call the operation.
        spec_of: From an element's row to the spec.

    Raises:
        DataError: If there are no elements.
    """
    with element_scope(lambda: ()), keep_variables():
        found = find_first(node, spec_of)
        if found is None and (row := zeros_of(node)) is not None:
            # As TensorFlow's tracing; a function that fails for zeros says nothing.
            with contextlib.suppress(Exception), on_host():
                found = spec_of(row)
    if found is None:
        raise DataError(
            f"The element_spec of a {operation} over an empty Dataset can't be found. "
            f"Received: element_spec={shown(node.spec)}."
        )
    return found
