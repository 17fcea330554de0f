"""Where elements come from: arrays in memory, ranges, random numbers, Python generators (data layer)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stratax._shown import shown
from stratax.data.elements._block import Block, Columns, Rows
from stratax.data.elements._spec import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, TensorSpec
from stratax.data.elements._structure import (
    Row,
    Structure,
    as_array,
    flatten,
    leaf_names,
    unflatten,
)
from stratax.data.ops.shuffle._permutation import random_integers
from stratax.data.plan._node import Node, Order, Passes, Run
from stratax.data.position._cursor import Cursor, State
from stratax.data.vectorise._user_code import user_code
from stratax.errors import DataError


class Slices(Node):
    """The slices of arrays along their first axis; a gather is one copy per component.

    Args:
        label: The name of the operation.
        leaves: Arrays with the same first dimension.
        structure: Structure of an element.
    """

    is_indexable = True
    is_uniform = True
    batch_size = None

    def __init__(self, label: str, leaves: Sequence[np.ndarray], structure: Structure) -> None:
        self.label = label
        self._leaves = list(leaves)
        self.structure = structure

    @property
    def spec(self) -> Any:
        """Structure of specs without the first axis."""
        specs = [TensorSpec(leaf.shape[1:], leaf.dtype) for leaf in self._leaves]
        return unflatten(self.structure, specs)

    def describe(self) -> str:
        """The operation and how many slices."""
        return f"{self.label}({self.length})"

    @property
    def length(self) -> int:
        """The first dimension."""
        return len(self._leaves[0])

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """One gather per component; a plain copy where the positions are consecutive."""
        first, count = int(indices[0]), len(indices)
        if _is_consecutive(indices):
            leaves = [leaf[first : first + count].copy() for leaf in self._leaves]
        else:
            leaves = [np.take(leaf, indices, axis=0) for leaf in self._leaves]
        return Columns(leaves, count)


def _is_consecutive(indices: np.ndarray) -> bool:
    if indices[-1] - indices[0] + 1 != len(indices):
        return False
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

    def __init__(self, start: int, step: int, length: int, dtype: np.dtype) -> None:
        self._start = start
        self._step = step
        self._length = length
        self._dtype = dtype

    @property
    def spec(self) -> TensorSpec:
        """A scalar."""
        return TensorSpec((), self._dtype)

    def describe(self) -> str:
        """The numbers."""
        return f"Range({self._start}, {self._step}, {self._length})"

    @property
    def length(self) -> int:
        """How many numbers."""
        return self._length

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """The numbers at some positions."""
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
        """Its key."""
        return self._order

    @property
    def spec(self) -> TensorSpec:
        """An int64 scalar."""
        return TensorSpec((), np.int64)

    @property
    def length(self) -> int:
        """No end."""
        return INFINITE_CARDINALITY

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """The numbers at some positions."""
        if isinstance(passes, int):
            return Columns([random_integers(indices, self._order.key(run, passes))], len(indices))
        numbers = np.empty(len(indices), np.int64)
        for number in np.unique(passes):
            chosen = passes == number
            numbers[chosen] = random_integers(indices[chosen], self._order.key(run, int(number)))
        return Columns([numbers], len(indices))


class Generator(Node):
    """Elements of a Python generator; every iteration calls `function(*args)` anew.

    Args:
        function: Gives an iterable.
        args: Its arguments, NumPy arrays.
        signature: Structure of TensorSpec that every element has to fit.
    """

    label = "Generator"
    is_indexable = False
    is_uniform = False
    batch_size = None

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], signature: Any) -> None:
        self._function = function
        self._args = args
        self._signature = signature
        self._specs, self.structure = flatten(signature)
        self._names = leaf_names(self.structure)

    @property
    def name(self) -> str:
        """The generator's name, for messages."""
        return getattr(self._function, "__qualname__", repr(self._function))

    @property
    def spec(self) -> Any:
        """The signature given."""
        return self._signature

    @property
    def length(self) -> int:
        """Not known."""
        return UNKNOWN_CARDINALITY

    @property
    def reads_ahead(self) -> int:
        """Nothing: whoever wrote the generator may watch it."""
        return 1

    def stream(self, run: Run, passes: int) -> Cursor:
        """The elements, converted to the signature's dtypes and checked against it."""
        run.placeless.append(self.without_place())
        return GeneratorCursor(self)

    def started(self) -> Iterator[Any]:
        """What the function gives for a new pass."""
        with user_code(f"The generator {self.name}"):
            return iter(self._function(*self._args))

    def without_place(self) -> DataError:
        """Why no place in it can be saved."""
        return DataError(
            "The position of this iterator can't be saved: it reads a Python generator, which can't be put "
            f"back. Received: from_generator({self.name}). Use from_tensor_slices or range with map."
        )

    def converted(self, element: Any, number: int) -> Row:
        """One of them, as the signature says."""
        with user_code(f"The generator {self.name}"):
            return self._converted(element, number)

    def _converted(self, element: Any, number: int) -> Row:
        leaves, structure = flatten(self._tuples(element))
        if structure != self.structure:
            raise DataError(
                f"The generator {self.name} gave an element that does not fit its output_signature. "
                f"Expected: structure {shown(self._signature)}. Received: element {number}={shown(element)}. "
                "Yield the structure of output_signature, or change output_signature."
            )
        return [
            self._convert(leaf, spec, name, number)
            for leaf, spec, name in zip(leaves, self._specs, self._names, strict=True)
        ]

    def _tuples(self, element: Any) -> Any:
        """TensorFlow takes a yielded list for a tuple where the signature has a tuple."""
        if isinstance(element, list) and type(self._signature) is tuple:
            return tuple(element)
        return element

    def _convert(self, leaf: Any, spec: TensorSpec, name: str, number: int) -> Any:
        array = as_array(leaf)
        found = TensorSpec.from_array(array)
        converted = array if found.dtype == spec.dtype else self._cast(array, spec, name, number)
        if not spec.is_compatible_with(TensorSpec.from_array(converted)):
            raise DataError(
                f"The generator {self.name} gave an element that does not fit its output_signature. "
                f"Expected: {name}={shown(spec)}. Received: element {number}, {name} of shape={found.shape}. "
                "Use None in output_signature for sizes that differ."
            )
        return converted

    def _cast(self, array: Any, spec: TensorSpec, name: str, number: int) -> Any:
        dtype = TensorSpec.from_array(array).dtype
        is_string = dtype.hasobject or spec.dtype.hasobject
        is_number = dtype.kind in "iub" and spec.dtype.kind in "iuf"
        if not is_string and (np.can_cast(dtype, spec.dtype, "same_kind") or is_number):
            return array.astype(spec.dtype)
        raise DataError(
            f"The generator {self.name} gave an element that does not fit its output_signature. Expected: "
            f"{name}={shown(spec)}. Received: element {number}, {name} of dtype={dtype}. Convert it in the generator, "
            "or change the dtype in output_signature."
        )


class GeneratorCursor(Cursor):
    """Reads a Python generator, whose place nobody knows."""

    def __init__(self, source: Generator) -> None:
        self._source = source
        self._elements: Iterator[Any] | None = None
        self._number = 0

    def read(self, limit: int) -> Block:
        """One element."""
        if self._elements is None:
            self._elements = self._source.started()
        element = next(self._elements)
        self._number += 1
        return Rows([self._source.converted(element, self._number - 1)])

    def get_state(self) -> State:
        """Raises."""
        raise self._source.without_place()

    def set_state(self, state: State) -> None:
        """Raises."""
        raise self._source.without_place()


def as_slices(label: str, tensors: Any, add_axis: bool) -> Slices:
    """The source node for arrays: whole as one element (`add_axis`), or their slices.

    Raises:
        DataError: There is no component, a component is a scalar, or first dimensions differ.
    """
    leaves, structure = flatten(tensors)
    if not leaves:
        raise DataError(
            f"A Dataset needs at least one component. Received: tensors={shown(tensors)}. Pass an array, or a tuple or "
            "dict of arrays."
        )
    arrays = [np.asarray(as_array(leaf)) for leaf in leaves]
    if add_axis:
        return Slices(label, [array[None] for array in arrays], structure)
    names = [name.replace("element", "tensors", 1) for name in leaf_names(structure)]
    for array, name in zip(arrays, names, strict=True):
        if array.ndim == 0:
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
    return Slices(label, arrays, structure)
