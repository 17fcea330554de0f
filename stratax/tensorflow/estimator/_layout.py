"""An element of a model's input, divided into what enters the step and what stays on the host (estimator layer)."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import known, storage
from stratax.data import SparseTensor, SparseTensorSpec
from stratax.distribute.input import Padded
from stratax.tensorflow.estimator._packing import PackedBatch, Packing
from stratax.tensorflow.v1 import HostInputs, HostTensor

# An element as its step gets it: numbers by name, by key what functions made of the features on the host, and by name
# arrays that have the shapes of strings, where these differ from batch to batch.
Numbers = dict[str, Any]
Given = dict[str, dict[str, Any]]
Shapes = dict[str, Any]


# What stands for the elements of an input that has neither features nor labels.
EMPTY = {"no features": 0}


@dataclasses.dataclass(frozen=True, slots=True)
class _Slot:
    """A feature or label of an element.

    Attributes:
        name: Its name on the host.
        start: Its first leaf.
        stop: The leaf behind its last.
        is_host: Whether it stays on the host.
        shape: The shape of one example; None for a SparseTensor.
        dtype: Its dtype.
    """

    name: str
    start: int
    stop: int
    is_host: bool
    shape: tuple[int, ...] | None
    dtype: np.dtype

    @property
    def is_wide(self) -> bool:
        """Whether it enters the step, where its whole numbers of 64 bits get 32."""
        return not self.is_host and self.dtype.kind in "iu" and self.dtype.itemsize > 4


class InputLayout:
    """What an input's elements consist of.

    Args:
        element: One of them, on the host: arrays, also of strings, and SparseTensors.
    """

    def __init__(self, element: object) -> None:
        pair = features_and_labels(element)
        leaves, self._treedef = jax.tree_util.tree_flatten_with_path(pair, is_leaf=_is_sparse)
        self._packing = Packing()
        # The host's features of which steps get the shapes.
        self._varying: list[_Slot] = []
        # Of whole numbers of 64 bits: what the step computes with, and the first number that 32 bits do not hold.
        self._used: set[str] = set()
        self._too_large: dict[str, int] = {}
        self._slots: list[_Slot] = []
        names: set[str] = set()
        start = 0
        for path, leaf in leaves:
            name = _free(_name(path), names)
            names.add(name)
            stop = start + (len(leaf.parts) if _is_sparse(leaf) else 1)
            self._slots.append(_slot(name, start, stop, leaf))
            start = stop

    @property
    def has_host(self) -> bool:
        """Whether a feature stays on the host."""
        return any(slot.is_host for slot in self._slots)

    def numbers(self, element: object) -> Numbers:
        """Return what of an element enters the step, by name."""
        leaves = jax.tree.leaves(element)
        return {slot.name: leaves[slot.start] for slot in self._slots if not slot.is_host}

    def mark(self, numbers: Numbers) -> Numbers:
        """Return what enters a step, with marks on whole numbers of 64 bits, which tell whether it computes with them.

        Args:
            numbers: What enters the step, in a trace of it.
        """
        wide = {slot.name for slot in self._slots if slot.is_wide}
        return {name: known.mark(value, name) if name in wide else value for name, value in numbers.items()}

    def note_used(self, names: Iterable[str]) -> None:
        """Note marked numbers that a step computes with.

        Args:
            names: Their names.

        Raises:
            BadArgumentError: If 32 bits do not hold one that has been read.
        """
        self._used.update(names)
        self._check_used()

    def batch(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """Return an element by name, as it is on the host."""
        return {
            slot.name: leaves[slot.start]
            if slot.shape is not None
            else SparseTensor(*leaves[slot.start : slot.stop])
            for slot in self._slots
        }

    def placeholders(
        self, numbers: Mapping[str, Any], rows: int, shapes: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Return features and labels as a `model_fn` gets them.

        Args:
            numbers: What enters the step.
            rows: How many examples there are.
            shapes: Arrays with the shapes of those that stay on the host, where they are not the first batch's.
        """
        leaves = [
            HostTensor(slot.name, _shape_of(slot, rows, shapes), slot.dtype)
            if slot.is_host
            else numbers[slot.name]
            for slot in self._slots
        ]
        features, labels = jax.tree.unflatten(self._treedef, leaves)
        return {} if isinstance(features, dict) and features.keys() == EMPTY.keys() else features, labels

    def choose_packing(
        self, inputs: HostInputs, element: object, spec: object, gathered: Callable[[bytes], Sequence[bytes]]
    ) -> None:
        """Settle in all workers alike which arrays are packed.

        Args:
            inputs: What functions of the host there are.
            element: An element of this worker.
            spec: What is known of all elements, as `Dataset.element_spec`; None if nothing is.
            gathered: Exchanges what each worker says.
        """
        is_fixed = all(json.loads(text) for text in gathered(json.dumps(_has_known_sizes(spec)).encode()))
        if not is_fixed:
            self._varying = [slot for slot in self._slots if slot.is_host and slot.shape]
        leaves = [np.asarray(leaf)[None] for leaf in jax.tree.leaves(element)]
        own = self._packing.kinds(self._compute(inputs, leaves, 1), is_fixed=is_fixed)
        self._packing.choose([json.loads(text) for text in gathered(json.dumps(own).encode())])

    def prepare_batches(self, inputs: HostInputs, leaves: list[np.ndarray], count: int) -> PackedBatch:
        """Return stacked elements as steps get them: what enters them, and what functions of the host made.

        Args:
            inputs: What functions of the host there are.
            leaves: The leaves of elements, stacked.
            count: How many they are.
        """
        return self._packing.pack(self._compute(inputs, leaves, count))

    def _compute(
        self, inputs: HostInputs, leaves: list[np.ndarray], count: int
    ) -> tuple[Numbers, Given, Shapes]:
        joined = {} if count == 1 else self._join(leaves)
        at_once, others = inputs.divided(joined)
        made = [inputs.apply(self.batch([leaf[index] for leaf in leaves]), others) for index in range(count)]
        given: Given = {
            key: {
                part: _stack([each[key][part] for each in made], inputs.fill(key, part))
                for part in made[0][key]
            }
            for key in others
        }
        for key, arrays in inputs.apply(joined, at_once).items():
            given[key] = {part: _part(array, count, inputs.fill(key, part)) for part, array in arrays.items()}
        numbers = {slot.name: leaves[slot.start] for slot in self._slots if not slot.is_host}
        for slot in self._slots:
            if slot.is_wide:
                numbers[slot.name] = self._fitting(slot.name, numbers[slot.name])
        shapes = {slot.name: np.zeros(leaves[slot.start].shape, bool) for slot in self._varying}
        return numbers, given, shapes

    def _join(self, leaves: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the features of stacked elements that have one row for each example, by name, as of one batch."""
        dense = [slot for slot in self._slots if slot.shape is not None and leaves[slot.start].ndim > 1]
        lengths = {leaves[slot.start].shape[:2] for slot in dense}
        if len(lengths) != 1:
            return {}
        return {slot.name: leaves[slot.start].reshape(-1, *leaves[slot.start].shape[2:]) for slot in dense}

    def _fitting(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return whole numbers that 32 bits hold: others stand for those that only the host reads."""
        try:
            storage.check_fits([array])
        except errors.BadArgumentError:
            # Here as numbers are read, and in `note_used` as steps are traced: whichever comes second raises.
            self._too_large.setdefault(name, max(int(array.min()), int(array.max()), key=abs))
            self._check_used()
            array = np.zeros_like(array)
        # Here, and not in the thread that dispatches steps: it would look at them once more.
        return array.astype(jax.dtypes.canonicalize_dtype(array.dtype))

    def _check_used(self) -> None:
        for name in self._used.intersection(self._too_large):
            raise errors.BadArgumentError(
                f"The model_fn computes with {shown(name)} in its step, where whole numbers have 32 bits. Expected: "
                f"-2147483648 to 2147483647. Received: {self._too_large[name]}. Let feature columns alone read it "
                "(hashed, crossed), or make it smaller in the input_fn: its remainder, a hash, or two numbers."
            )


def features_and_labels(element: object) -> tuple[Any, Any]:
    """Divide an element of the input, as TensorFlow does.

    Raises:
        BadArgumentError: If it is a tuple of another length than 2.
    """
    if not isinstance(element, list | tuple):
        return element, None
    if len(element) != 2:
        raise errors.BadArgumentError(
            f"input_fn must give features, or pairs of features and labels. Received: a tuple of {len(element)}. Put "
            "several tensors into a dict."
        )
    return element[0], element[1]


def rows_of(numbers: Mapping[str, Any], given: Mapping[str, Mapping[str, Any]]) -> int:
    """Return how many examples a step has."""
    arrays = [*numbers.values(), *(array for parts in given.values() for array in parts.values())]
    return next((int(array.shape[0]) for array in arrays if len(array.shape)), 0)


def first_rows(element: Any, parts: int) -> Any:
    """Return one of so many equal parts of a batch, or the batch if it does not divide."""

    def part(leaf: Any) -> Any:
        if _is_sparse(leaf):
            rows = leaf.shape[0] // parts
            if leaf.shape[0] % parts:
                return leaf
            chosen = np.asarray(leaf.indices)[:, 0] < rows
            shape = np.asarray([rows, *leaf.shape[1:]], np.int64)
            return SparseTensor(leaf.indices[chosen], leaf.values[chosen], shape)
        if not np.ndim(leaf) or leaf.shape[0] % parts:
            return leaf
        return leaf[: leaf.shape[0] // parts]

    return jax.tree.map(part, element, is_leaf=_is_sparse)


def example_of(spec: Any) -> Any:
    """Return an element of one example that has a dataset's structure."""

    def leaf(spec: Any) -> Any:
        if isinstance(spec, SparseTensorSpec):
            rank = 2 if spec.shape is None else len(spec.shape)
            return SparseTensor(
                np.zeros((0, rank), np.int64), np.zeros(0, spec.dtype), np.ones(rank, np.int64)
            )
        shape = tuple(size or 1 for size in spec.shape)
        return np.full(shape, b"", object) if spec.dtype.kind == "O" else np.zeros(shape, spec.dtype)

    return jax.tree.map(leaf, spec)


def _shape_of(slot: _Slot, rows: int, shapes: Mapping[str, Any]) -> tuple[int, ...] | None:
    if slot.shape is None:
        return None
    return (rows, *(shapes[slot.name].shape[1:] if slot.name in shapes else slot.shape))


def _has_known_sizes(spec: object) -> bool:
    """Return whether all sizes of elements are known, but for the number of examples."""

    def is_known(leaf: Any) -> bool:
        # What the host makes of sparse ones is filled up to one width.
        return isinstance(leaf, SparseTensorSpec) or (
            getattr(leaf, "shape", None) is not None and None not in tuple(leaf.shape)[1:]
        )

    return spec is not None and all(map(is_known, jax.tree.leaves(spec)))


def _slot(name: str, start: int, stop: int, leaf: Any) -> _Slot:
    if _is_sparse(leaf):
        return _Slot(name, start, stop, is_host=True, shape=None, dtype=leaf.dtype)
    array = np.asarray(leaf)
    return _Slot(
        name, start, stop, is_host=array.dtype.kind in "OSU", shape=array.shape[1:], dtype=array.dtype
    )


def _stack(arrays: list[np.ndarray], fill: float | None) -> Any:
    if fill is None:
        return np.stack(arrays) if len(arrays) > 1 else np.asarray(arrays[0])[None]
    if len(arrays) == 1:
        return Padded(np.asarray(arrays[0])[None], fill)
    width = max(array.shape[1] for array in arrays)
    made = np.full((len(arrays), len(arrays[0]), width, *arrays[0].shape[2:]), fill, arrays[0].dtype)
    for row, array in zip(made, arrays, strict=True):
        row[:, : array.shape[1]] = array
    return Padded(made, fill)


def _part(array: np.ndarray, count: int, fill: float | None) -> Any:
    """Return the rows of joined elements by element."""
    rows = array.reshape(count, -1, *array.shape[1:])
    return rows if fill is None else Padded(rows, fill)


def _name(path: Iterable[Any]) -> str:
    """Return the name of a leaf of (features, labels): the keys of a feature."""
    of_labels, *keys = path
    names = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in keys]
    root = ["labels"] if of_labels.idx else [] if names else ["features"]
    return "/".join([*root, *names])


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _is_sparse(leaf: object) -> bool:
    return isinstance(leaf, SparseTensor)
