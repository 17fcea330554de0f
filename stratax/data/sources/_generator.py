"""Elements that a Python generator gives (data layer)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    UNKNOWN_CARDINALITY,
    Block,
    CompositeSpec,
    DatasetSpec,
    ElementRows,
    Row,
    TensorSpec,
    as_array,
    as_row,
    flatten,
    leaf_names,
    shapes_in,
    spec_of_leaf,
    unflatten,
)
from stratax.data.plan import Node, PlanRun, check_callable
from stratax.data.position import Cursor, State
from stratax.data.vectorise import user_code
from stratax.errors import BadArgumentError, BadTypeError, DataError


class GeneratorElements(Node):
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
    # One at a time: whoever wrote the generator may watch it.
    reads_ahead = 1

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], signature: object) -> None:
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
        """The signature that was given."""
        return self._signature

    @property
    def length(self) -> int:
        """Answer that the number of elements is not known."""
        return UNKNOWN_CARDINALITY

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the elements, converted to the signature's dtypes and checked against it."""
        # Noted when it is opened: the generator may be within a plan that a function makes, where nobody sees
        # it.
        run.placeless.append(self.without_place())
        return GeneratorCursor(self)

    def start(self) -> Iterator[Any]:
        """Return what the function gives for a new pass."""
        with user_code(f"The generator {self.name}"):
            return iter(self._function(*self._args))

    def without_place(self) -> DataError:
        """Return why no position in it can be saved."""
        return DataError(
            "The position of this iterator can't be saved: it reads a Python generator, which can't be put "
            f"back. Received: from_generator({self.name}). Use from_tensor_slices or range with map."
        )

    def convert(self, element: PyTree, number: int) -> Row:
        """Convert one element as the signature says."""
        with user_code(f"The generator {self.name}"):
            return self._convert_element(element, number)

    def _convert_element(self, element: PyTree, number: int) -> Row:
        found, structure = flatten(self._tuples(element))
        leaves: Row | None = found
        if structure != self.structure:
            # A tuple that stands where the signature has one array, is one.
            leaves = self._up_to_signature(element)
        if leaves is None:
            raise DataError(
                f"The generator {self.name} gave an element that does not fit its output_signature. "
                f"Expected: structure {shown(self._signature)}. Received: element {number}={shown(element)}. "
                "Yield the structure of output_signature, or change output_signature."
            )
        return [
            self._convert(leaf, spec, name, number)
            for leaf, spec, name in zip(leaves, self._specs, self._names, strict=True)
        ]

    def _up_to_signature(self, element: PyTree) -> Row | None:
        """Return what stands in the signature's places; None if the element has not its structure."""
        try:
            leaves: Row = self.structure.flatten_up_to(self._tuples(element))
        except ValueError:
            return None
        return [list(leaf) if type(leaf) is tuple else leaf for leaf in leaves]

    def _tuples(self, element: PyTree) -> Any:
        """Convert a yielded list to a tuple where the signature has a tuple, as TensorFlow does."""
        if isinstance(element, list) and type(self._signature) is tuple:
            return tuple(element)
        return element

    def _convert(
        self, leaf: object, spec: TensorSpec | CompositeSpec | DatasetSpec, name: str, number: int
    ) -> Any:
        if isinstance(spec, CompositeSpec | DatasetSpec):
            return self._composite(leaf, spec, name, number)
        array = as_array(leaf)
        found = TensorSpec.from_array(array)
        # No copy where the dtype is right.
        converted = array if found.dtype == spec.dtype else self._cast(array, spec, name, number)
        if not spec.is_compatible_with(TensorSpec.from_array(converted)):
            raise DataError(
                f"The generator {self.name} gave an element that does not fit its output_signature. "
                f"Expected: {name}={shown(spec)}. Received: element {number}, {name} of shape={found.shape}. "
                "Use None in output_signature for sizes that differ."
            )
        return converted

    def _composite(self, leaf: object, spec: CompositeSpec | DatasetSpec, name: str, number: int) -> Any:
        value = as_row(leaf)[0][0]
        if spec.is_compatible_with(value):
            return value
        raise DataError(
            f"The generator {self.name} gave an element that does not fit its output_signature. Expected: "
            f"{name}={shown(spec)}. Received: element {number}, {name}={shown(spec_of_leaf(value))}. Yield such a "
            "value, or change output_signature."
        )

    def _cast(self, array: Any, spec: TensorSpec, name: str, number: int) -> Any:
        dtype = TensorSpec.from_array(array).dtype
        is_string = dtype.hasobject or spec.dtype.hasobject
        # Python's integers arrive as int64 and may be meant for a smaller or unsigned type, as in TensorFlow.
        is_number = dtype.kind in "iub" and spec.dtype.kind in "iuf"
        if not is_string and (np.can_cast(dtype, spec.dtype, "same_kind") or is_number):
            return array.astype(spec.dtype)
        if dtype.hasobject and spec.dtype.kind in "iuf":
            # Text that says numbers, as of the csv module: TensorFlow has NumPy read it.
            with contextlib.suppress(TypeError, ValueError):
                return np.array(np.asarray(array).tolist()).astype(spec.dtype)[()]
        raise DataError(
            f"The generator {self.name} gave an element that does not fit its output_signature. Expected: "
            f"{name}={shown(spec)}. Received: element {number}, {name} of dtype={dtype}. Convert it in the generator, "
            "or change the dtype in output_signature."
        )


class GeneratorCursor(Cursor):
    """Reads a Python generator, whose position is unknown."""

    def __init__(self, source: GeneratorElements) -> None:
        self._source = source
        self._elements: Iterator[Any] | None = None
        self._number = 0

    def read(self, limit: int) -> Block:
        if self._elements is None:
            self._elements = self._source.start()
        element = next(self._elements)
        # Before the conversion: an element that does not fit is passed over, not asked for again.
        self._number += 1
        return ElementRows([self._source.convert(element, self._number - 1)])

    def get_state(self) -> State:
        """Refuse to tell a position: the source can't go back to one."""
        raise self._source.without_place()

    def set_state(self, state: State) -> None:
        """Refuse to go to a position: the source can't."""
        raise self._source.without_place()


def make_generator(
    generator: Any, output_types: object, output_shapes: object, args: Any, output_signature: object
) -> GeneratorElements:
    """Make a generator source from either form of its signature."""
    check_callable("generator", generator)
    if (output_types is None) == (output_signature is None):
        raise BadTypeError(
            "from_generator needs output_signature, or in the old form output_types, and not both. "
            f"Received: output_types={shown(output_types)}, output_signature={shown(output_signature)}. "
            "Pass output_signature=TensorSpec(shape, dtype) or a structure of them."
        )
    signature = output_signature if output_types is None else _old_signature(output_types, output_shapes)
    for spec in flatten(signature)[0]:
        if not isinstance(spec, TensorSpec | CompositeSpec | DatasetSpec):
            raise BadTypeError(
                "output_signature is a TensorSpec or a structure (tuple, dict) of them, and of specs of sparse and "
                f"ragged components and of Datasets. Received: {shown(spec)} in "
                f"output_signature={shown(output_signature)}."
            )
    # The function gets NumPy values, scalars as NumPy scalars, as TensorFlow passes them.
    return GeneratorElements(generator, tuple(np.asarray(arg)[()] for arg in args or ()), signature)


def _old_signature(types: object, shapes: object) -> Any:
    # Nothing in the types is a leaf by itself: a tuple in them is structure, not a shape.
    dtypes, structure = flatten(types, is_leaf=lambda part: False)
    if shapes is None:
        return unflatten(structure, [TensorSpec(None, dtype) for dtype in dtypes])
    listed = shapes_in(structure, shapes)
    if listed is None:
        raise BadArgumentError(
            "output_shapes needs the structure of output_types. "
            f"Received: output_types={shown(types)}, output_shapes={shown(shapes)}. Pass output_signature instead."
        )
    specs = [TensorSpec(shape, dtype) for shape, dtype in zip(listed, dtypes, strict=True)]
    return unflatten(structure, specs)
