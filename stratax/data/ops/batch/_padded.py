"""`padded_batch`: the node and the checks of its shapes and padding (data layer)."""

import abc
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    Block,
    Row,
    Shape,
    TensorSpec,
    as_array,
    as_shape,
    flatten,
    leaf_names,
    shapes_in,
    stack_rows,
    unflatten,
)
from stratax.data.ops.batch._batch import Grouped
from stratax.data.ops.batch._cursors import one_element
from stratax.data.plan import Node, Passes, PlanRun, as_count
from stratax.errors import BadTypeError, DataError, DataLossError


class OneByOne(Grouped):
    """`size` elements that are put together one by one, since they differ in shape."""

    # Not known before looking.
    is_uniform = False

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather one batch (every batch may have a shape of its own)."""
        start = int(indices[0]) * self.size
        stop = start + self.size
        if self.child.length >= 0:
            stop = min(stop, self.child.length)
        one_pass = passes if isinstance(passes, int) else int(passes[0])
        # One by one: elements of one batch differ in shape.
        rows = [
            self.child.gather(np.array([position]), one_pass, run).row(0) for position in range(start, stop)
        ]
        return one_element(self.join_rows(rows))

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Give each element a shape of its own."""
        # No two batches count as alike: how long the longest element of each is shows only when it is made.
        return np.arange(len(indices))

    def join(self, pieces: list[Block]) -> Row:
        return self.join_rows([piece.row(i) for piece in pieces for i in range(piece.count)])

    @abc.abstractmethod
    def join_rows(self, rows: list[Row]) -> Row:
        """Join the elements of one group."""


class PaddedBatch(OneByOne):
    """`size` elements, padded to a common shape, on a new leading axis.

    Args:
        child: The node.
        size: Elements of a batch.
        drop_remainder: Whether a short last batch is left out.
        shapes: For every component the shape to pad to, None for "the longest in the batch".
        values: For every component what to pad with.
    """

    label = "PaddedBatch"

    def __init__(
        self, child: Node, size: int, shapes: list[Shape | None], values: list[Any], *, drop_remainder: bool
    ) -> None:
        super().__init__(child, size, drop_remainder=drop_remainder)
        self._shapes = shapes
        self._values = values

    @property
    def spec(self) -> Any:
        """The padded shapes with a leading axis."""
        specs, structure = flatten(self.child.spec)
        padded = [
            TensorSpec(spec.shape if shape is None else shape, spec.dtype).batched(self._static_size)
            for spec, shape in zip(specs, self._shapes, strict=True)
        ]
        return unflatten(structure, padded)

    def join_rows(self, rows: list[Row]) -> Row:
        names = leaf_names(self.child.structure)
        return [self._pad([row[i] for row in rows], i, name) for i, name in enumerate(names)]

    def _pad(self, parts: list[Any], component: int, name: str) -> np.ndarray:
        shape = self._target([np.shape(part) for part in parts], self._shapes[component], name)
        # Scalars need no padding.
        if not shape:
            return stack_rows([[part] for part in parts])[0]
        # Filled with the padding, into which each element is copied.
        out = np.full((len(parts), *shape), self._values[component], dtype=parts[0].dtype)
        for place, part in zip(out, parts, strict=True):
            place[tuple(slice(size) for size in np.shape(part))] = part
        return out

    @staticmethod
    def _target(shapes: list[tuple[int, ...]], wanted: Shape | None, name: str) -> tuple[int, ...]:
        wanted = wanted if wanted is not None else (None,) * len(shapes[0])
        if any(len(shape) != len(wanted) for shape in shapes):
            raise DataError(
                f"padded_batch pads sizes, not ranks. Expected: {name} of rank {len(wanted)}. "
                f"Received: shapes={shown(sorted(set(shapes)))}. Give every element the same rank in a map."
            )
        longest = tuple(max(sizes) for sizes in zip(*shapes, strict=True))
        target = tuple(a if b is None else b for a, b in zip(longest, wanted, strict=True))
        # Nothing is ever cut off.
        if any(a > b for a, b in zip(longest, target, strict=True)):
            raise DataLossError(
                "Attempted to pad to a smaller size than the input element. padded_batch can't cut an element. "
                f"Expected: {name} of shape at most {target}. "
                f"Received: sizes up to {longest}. Use a larger padded_shapes, or None for the longest in the batch."
            )
        return target


def make_padded_batch(
    node: Node, batch_size: object, shapes: object, values: PyTree, *, drop_remainder: bool
) -> Node:
    """Make the node of `Dataset.padded_batch`."""
    size = as_count("batch_size", batch_size, 1)
    specs, structure = flatten(node.spec)
    names = leaf_names(structure)
    for spec, name in zip(specs, names, strict=True):
        if not isinstance(spec, TensorSpec):
            raise BadTypeError(
                f"padded_batch pads arrays. Received: {name}={shown(spec)}. Flatten windows first, use batch for "
                "sparse and ragged components, or make them dense with tf.sparse.to_dense or to_tensor() in a map."
            )
    listed: list[Shape | None] = [None] * len(specs)
    if shapes is not None:
        parts = shapes_in(structure, shapes)
        if parts is None:
            raise _not_matching(shapes, names, "padded_shapes")
        listed = [as_shape(part) for part in parts]
    for shape, spec, name in zip(listed, specs, names, strict=True):
        if shape is None and spec.shape is None:
            raise DataError(
                "You must provide `padded_shapes`, as the rank of a component is unknown. Expected: a shape for "
                f"{name}={shown(spec)}. Received: none. Pass one such as [None], padded to the longest in the batch."
            )
        if shape is not None and spec.shape is not None and len(shape) != len(spec.shape):
            raise DataError(
                f"padded_shapes needs the rank of each component. Expected: a shape of rank {len(spec.shape)} for "
                f"{name}={shown(spec)}. Received: {shape}."
            )
        if shape is not None and spec.shape is not None and not _holds(shape, spec.shape):
            raise DataError(
                f"The padded shape {shape} is not compatible with the shape of the corresponding input component, "
                f"which is larger. Received: {name}={shown(spec)}. Use a larger padded_shapes, or None for the longest "
                "in the batch."
            )
    given = [None] * len(specs)
    if values is not None:
        # One value for all components, unless there is a structure of them.
        is_one = not isinstance(values, tuple | dict)
        given = [values] * len(specs) if is_one else _matching(values, structure, names, "padding_values")
    padding = [_padding(value, spec, name) for value, spec, name in zip(given, specs, names, strict=True)]
    return PaddedBatch(node, size, drop_remainder=bool(drop_remainder), shapes=listed, values=padding)


def _holds(shape: Shape, sizes: Shape) -> bool:
    return all(a is None or b is None or b <= a for a, b in zip(shape, sizes, strict=True))


def _matching(
    value: object,
    structure: PyTree,
    names: list[str],
    argument: str,
) -> list[Any]:
    parts, other = flatten(value, lambda part: part is None or isinstance(part, list))
    if other != structure:
        raise _not_matching(value, names, argument)
    return parts


def _not_matching(value: object, names: list[str], argument: str) -> DataError:
    return DataError(
        f"{argument} needs the structure of the elements, with components {names}. "
        f"Received: {argument}={shown(value)}."
    )


def _padding(value: object, spec: TensorSpec, name: str) -> Any:
    if value is None:
        return b"" if spec.dtype.hasobject else np.zeros((), spec.dtype)[()]
    array = np.asarray(as_array(value))
    if not array.ndim and _fits(array, spec.dtype):
        return array.astype(spec.dtype)[()]
    raise DataError(
        f"padding_values has to be one value of the component's dtype. Expected: {spec.dtype} for {name}. "
        f"Received: padding_values={shown(value)}. Pass a number that the dtype holds, or bytes for strings."
    )


def _fits(value: np.ndarray, dtype: np.dtype) -> bool:
    """Return whether a dtype holds a value: a number may be written as another kind of number."""
    is_string = value.dtype.kind in "OS"
    if is_string or dtype.hasobject:
        return is_string and dtype.hasobject
    if dtype.kind in "iu" and value.dtype.kind in "iu":
        return bool(np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max)
    # A whole number may pad floats; a fraction must not be rounded to pad integers.
    return np.can_cast(value.dtype, dtype, "same_kind") or (value.dtype.kind in "iu" and dtype.kind in "fc")
