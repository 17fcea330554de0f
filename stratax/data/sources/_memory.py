"""Where elements come from: arrays in memory, ranges, random numbers, Python generators (data layer)."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    INFINITE_CARDINALITY,
    Block,
    Columns,
    Composite,
    CompositeSpec,
    DatasetSpec,
    Nested,
    Structure,
    TensorSpec,
    as_array,
    as_dtype,
    as_row,
    flatten,
    leaf_names,
    random_integers,
    spec_of_leaf,
    unflatten,
)
from stratax.data.plan import Node, Order, Passes, PlanRun, as_count, merge_specs
from stratax.data.sources._rows import RowsSource
from stratax.errors import BadArgumentError, BadTypeError, DataError


class Slices(Node):
    """The slices of arrays along their first axis; a gather is one copy per component.

    Args:
        label: The name of the operation.
        leaves: Arrays with the same first dimension.
        structure: Structure of an element.
    """

    is_indexable = True
    is_in_memory = True
    is_uniform = True
    batch_size = None

    def __init__(self, label: str, leaves: Sequence[np.ndarray], structure: Structure) -> None:
        self.label = label
        self._leaves = list(leaves)
        self.structure = structure
        # Arrays alone.
        self.composites = {}

    @functools.cached_property
    def spec(self) -> Any:
        """Structure of specs without the first axis."""
        specs = [TensorSpec(leaf.shape[1:], leaf.dtype) for leaf in self._leaves]
        return unflatten(self.structure, specs)

    def describe(self) -> str:
        return f"{self.label}({self.length})"

    @property
    def length(self) -> int:
        """The size of the first dimension."""
        return len(self._leaves[0])

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather once per component; a plain copy where the positions are consecutive."""
        first, count = int(indices[0]), len(indices)
        if _is_consecutive(indices):
            # Copied: an element belongs to who receives it, and the source must stay as it is.
            leaves = [leaf[first : first + count].copy() for leaf in self._leaves]
        else:
            leaves = [np.take(leaf, indices, axis=0) for leaf in self._leaves]
        return Columns(leaves, count)


def _is_consecutive(indices: np.ndarray) -> bool:
    if indices[-1] - indices[0] + 1 != len(indices):
        return False
    # The first test alone lets permutations through, which two positions cannot be.
    return len(indices) < 3 or bool((indices[1:] - indices[:-1] == 1).all())


class Range(Node):
    """`start, start + step, ...`: computed, never stored.

    Args:
        start: The first number.
        step: The difference of two.
        length: How many, or INFINITE_CARDINALITY.
        dtype: Their dtype.
    """

    label = "Range"
    is_indexable = True
    is_uniform = True
    batch_size = None

    def __init__(self, start: float, step: float, length: int, dtype: np.dtype) -> None:
        self._start = start
        self._step = step
        self._length = length
        self._dtype = dtype

    @property
    def spec(self) -> TensorSpec:
        """The spec of a number: a scalar."""
        return TensorSpec((), self._dtype)

    def describe(self) -> str:
        return f"Range({self._start}, {self._step}, {self._length})"

    @property
    def length(self) -> int:
        """Count the numbers of the range."""
        return self._length

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        # In int64, whatever the result's dtype; the bounds were checked when the node was made.
        numbers = self._start + self._step * indices
        return Columns([numbers.astype(self._dtype, copy=False)], len(indices))


class Random(Node):
    """An endless sequence of random integers below 2**32; each is a function of (seed, iteration, position)."""

    label = "Random"
    is_indexable = True
    is_uniform = True
    batch_size = None

    def __init__(self, order: Order) -> None:
        self._order = order

    @property
    def order(self) -> Order:
        """Return the key of the random order."""
        return self._order

    @property
    def spec(self) -> TensorSpec:
        """Describe an element: a scalar of int64."""
        return TensorSpec((), np.int64)

    @property
    def length(self) -> int:
        """The length, which has no end."""
        return INFINITE_CARDINALITY

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        if isinstance(passes, int):
            return Columns([random_integers(indices, self._order.key(run, passes))], len(indices))
        numbers = np.empty(len(indices), np.int64)
        for number in np.unique(passes):
            chosen = passes == number
            numbers[chosen] = random_integers(indices[chosen], self._order.key(run, int(number)))
        return Columns([numbers], len(indices))


def as_slices(label: str, tensors: PyTree, *, add_axis: bool) -> Node:
    """Make the source node for arrays: whole as one element (`add_axis`), or their slices.

    Raises:
        DataError: There is no component, a component is a scalar, or first dimensions differ.
    """
    leaves, structure = flatten(tensors)
    if not leaves:
        raise DataError(
            f"A Dataset needs at least one component. Received: tensors={shown(tensors)}. Pass an array, or a tuple or "
            "dict of arrays."
        )
    if not add_axis and any(map(_are_datasets, leaves)):
        return _of_datasets(label, leaves, structure)
    if any(isinstance(leaf, Composite) or (add_axis and isinstance(leaf, Nested)) for leaf in leaves):
        return _of_composites(label, leaves, structure, add_axis=add_axis)
    if add_axis:
        return Slices(label, [_whole(as_array(leaf))[None] for leaf in leaves], structure)
    arrays = [_whole(as_array(leaf)) for leaf in leaves]
    _check_lengths(arrays, structure)
    return Slices(label, arrays, structure)


def _are_datasets(leaf: object) -> bool:
    return isinstance(leaf, list) and bool(leaf) and all(isinstance(part, Nested) for part in leaf)


def _of_datasets(label: str, leaves: Sequence[Any], structure: Structure) -> Node:
    """Make the source node of lists of Datasets, and of arrays beside them."""
    columns, specs = [], []
    for leaf in leaves:
        if _are_datasets(leaf):
            column = np.empty(len(leaf), object)
            column[:] = leaf
            spec: Any = DatasetSpec(functools.reduce(merge_specs, [part.element_spec for part in leaf]))
        else:
            column = _whole(as_array(leaf))
            spec = TensorSpec(column.shape[1:], column.dtype)
        columns.append(column)
        specs.append(spec)
    _check_lengths(columns, structure)
    rows = [list(row) for row in zip(*columns, strict=True)]
    return RowsSource(rows, unflatten(structure, specs), label)


def _check_lengths(arrays: Sequence[Any], structure: Structure) -> None:
    names = [name.replace("element", "tensors", 1) for name in leaf_names(structure)]
    for array, name in zip(arrays, names, strict=True):
        if not isinstance(array, list) and array.ndim == 0:
            raise DataError(
                f"from_tensor_slices slices along the first axis, so every component needs one. "
                f"Received: {name} is a scalar, {shown(array[()])}. Use from_tensors for it."
            )
    if len({len(array) for array in arrays}) > 1:
        sizes = ", ".join(f"{name}: {len(array)}" for name, array in zip(names, arrays, strict=True))
        raise DataError(
            "The components of from_tensor_slices need the same first dimension. "
            f"Received: first dimensions {sizes}. Cut them to the same length."
        )


def _of_composites(label: str, leaves: Sequence[Any], structure: Structure, *, add_axis: bool) -> Node:
    """Make the source node of arrays and of what is none, such as a RaggedTensor, whose rows differ in length."""
    # A component by itself is one of one value.
    given = [as_row(leaf)[0][0] for leaf in leaves]
    specs: list[Any] = [spec_of_leaf(leaf) for leaf in given]
    if add_axis:
        return RowsSource([given], unflatten(structure, specs), label)
    parts = [leaf.spec.split(leaf) if isinstance(leaf, Composite) else _whole(leaf) for leaf in given]
    _check_lengths(parts, structure)
    rows = [as_row(unflatten(structure, [part[i] for part in parts]))[0] for i in range(len(parts[0]))]
    inner = [
        spec.unbatched()
        if isinstance(spec, CompositeSpec | DatasetSpec)
        else TensorSpec(spec.shape[1:], spec.dtype)
        for spec in specs
    ]
    return RowsSource(rows, unflatten(structure, inner), label)


def _whole(leaf: object) -> np.ndarray:
    # NumPy's own strings lose the zero bytes at their ends.
    return np.asarray(leaf, object if isinstance(leaf, bytes) else None)


def make_range(args: tuple[Any, ...], output_type: object) -> Range:
    """Make `range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
    if not 1 <= len(args) <= 3:
        raise BadTypeError(
            "range takes (stop), (start, stop) or (start, stop, step). "
            f"Received: {len(args)} arguments, args={shown(args)}."
        )
    numbers = [as_count(f"args[{i}]", value, None) for i, value in enumerate(args)]
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else 1
    if step == 0:
        raise BadArgumentError(
            "The step of a range is not zero. Received: step=0. Pass a step such as 1 or -1."
        )
    if any(not -(1 << 63) <= number < 1 << 63 for number in numbers):
        raise BadArgumentError(
            f"The numbers of a range are int64. Received: args={shown(args)}. Pass numbers from -2**63 to 2**63 - 1."
        )
    return Range(start, step, len(range(start, stop, step)), _find_counted_dtype("output_type", output_type))


def make_counter(start: Any, step: Any, dtype: object) -> Range:
    """Make an endless range, whose numbers may be fractions if `dtype` is of such."""
    kind = _find_counted_dtype("dtype", dtype)

    def number(name: str, value: Any) -> float:
        is_fraction = isinstance(value, float | np.floating) and kind.kind in "fc"
        return float(value) if is_fraction else as_count(name, value, None)

    return Range(number("start", start), number("step", step), INFINITE_CARDINALITY, kind)


def _find_counted_dtype(name: str, dtype: Any) -> np.dtype:
    """Return the dtype of numbers of a range.

    Raises:
        BadTypeError: It is one of text or of truth values.
    """
    kind = as_dtype(dtype)
    if kind.hasobject or kind.kind == "b":
        raise BadTypeError(
            f"The elements of a range are numbers. Received: {name}={shown(dtype)}. Pass a dtype such as tf.int64, and "
            "convert the numbers in a map."
        )
    return kind
