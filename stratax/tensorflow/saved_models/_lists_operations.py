"""Operations of lists and growing arrays, which loops fill (saved_models layer)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.arrays import arrays
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import (
    OperationContext,
    Value,
    as_number,
    as_numbers,
    define,
    library,
    plain,
)


class TensorList:
    """A list of arrays: each of its own, or, in a loop of a program, all as rows of one.

    Attributes:
        items: The arrays; None for those that were not set. None if they are rows.
        rows: All of them, one below the other; None if each is of its own.
        dtype: Their dtype.
        shape: The sizes of each, as far as they are known.

    Args:
        items: The arrays.
        rows: All of them.
        dtype: Their dtype.
        shape: The sizes.
    """

    __slots__ = ("dtype", "items", "rows", "shape")

    def __init__(
        self, items: list[Any] | None, rows: Value, dtype: Value, shape: tuple[int | None, ...] | None
    ) -> None:
        self.items = items
        self.rows = rows
        self.dtype = dtype
        self.shape = shape

    def __len__(self) -> int:
        return int(self.rows.shape[0]) if self.items is None else len(self.items)

    def element_shape(self) -> tuple[int, ...] | None:
        """Return the sizes of each array; None if they are not known yet."""
        if self.items is None:
            return tuple(self.rows.shape[1:])
        there = next((each for each in self.items if each is not None), None)
        if there is not None:
            return tuple(np.shape(there))
        if self.shape is None or None in self.shape:
            return None
        return tuple(size for size in self.shape if size is not None)

    def _blank(self) -> Any:
        shape = self.element_shape()
        if shape is None:
            raise BadArgumentError("The arrays of a list have no known shape, and none was set.")
        return np.full(shape, b"", object) if self.dtype.hasobject else np.zeros(shape, self.dtype)

    def stack(self) -> Any:
        """Return all arrays as rows of one."""
        if self.items is None:
            return self.rows
        if not self.items:
            return np.zeros((0, *(self.element_shape() or ())), self.dtype)
        blank = None if all(each is not None for each in self.items) else self._blank()
        values: list[Any] = [blank if each is None else each for each in self.items]
        return arrays.stack(values) if library(*values) is jnp else np.stack(values)

    def get(self, index: Value) -> Any:
        """Return one of the arrays."""
        if self.items is not None and not isinstance(index, jax.core.Tracer):
            number = int(index)
            if not 0 <= number < len(self.items):
                raise BadArgumentError(f"A list of {len(self.items)} arrays has none of number {number}.")
            return self._blank() if self.items[number] is None else self.items[number]
        return jax.lax.dynamic_index_in_dim(jnp.asarray(self.stack()), index, keepdims=False)

    def set(self, index: Value, value: Value) -> "TensorList":
        """Return a list in which one of the arrays is another."""
        if self.items is not None and not isinstance(index, jax.core.Tracer):
            number, items = int(index), list(self.items)
            if number < 0 or number > 1 << 24:
                raise BadArgumentError(f"A list of {len(items)} arrays has none of number {number}.")
            # A list grows where it is written behind its end.
            items.extend([None] * (number + 1 - len(items)))
            items[number] = value
            return TensorList(items, None, self.dtype, self.shape)
        if self.items is not None and self.element_shape() is None:
            rows = jnp.zeros((len(self), *np.shape(value)), self.dtype)
        else:
            rows = jnp.asarray(self.stack())
        return TensorList(None, rows.at[index].set(value), self.dtype, self.shape)


def _shape(value: Value) -> tuple[int | None, ...] | None:
    sizes = as_numbers(value)
    if np.ndim(value) == 0:
        return None
    return tuple(None if size < 0 else size for size in sizes)


def _of_rows(rows: Value, dtype: Value, shape: Value = None) -> TensorList:
    if isinstance(rows, jax.core.Tracer):
        return TensorList(None, rows, dtype, shape)
    return TensorList(
        list(rows) if not dtype.hasobject else [np.asarray(each, object) for each in rows], None, dtype, shape
    )


_RESERVED_MOST = 1 << 24


def _reserve(run: OperationContext, node: FileNode, shape: Value, count: Value) -> TensorList:
    number = as_number(count)
    if not 0 <= number <= _RESERVED_MOST:
        raise BadArgumentError(f"A list of {number} arrays can't be made.")
    return TensorList([None] * number, None, node["element_dtype"], _shape(shape))


define("TensorListReserve", _reserve, static=(0, 1))
define(
    "EmptyTensorList",
    lambda run, node, shape, most: TensorList([], None, node["element_dtype"], _shape(shape)),
    static=(0, 1),
)
define(
    "TensorListFromTensor",
    lambda run, node, rows, shape: _of_rows(rows, node["element_dtype"]),
    static=(1,),
)


def _stack(run: OperationContext, node: FileNode, values: TensorList, shape: Value) -> Any:
    if values.element_shape() is None and np.ndim(shape):
        values = TensorList(values.items, values.rows, values.dtype, _shape(shape))
    return values.stack()


define("TensorListStack", _stack, static=(1,))
plain("TensorListGetItem", lambda values, index, shape: values.get(index), static=(2,))
plain("TensorListSetItem", lambda values, index, item: values.set(index, item))
plain("TensorListLength", lambda values: np.int32(len(values)))
define(
    "TensorListPushBack",
    lambda run, node, values, item: TensorList([*_items(values), item], None, values.dtype, values.shape),
)


def _items(values: TensorList) -> list[Any]:
    return list(values.rows) if values.items is None else values.items


def _pop(run: OperationContext, node: FileNode, values: TensorList, shape: Value) -> tuple[Any, Any]:
    items = _items(values)
    if not items:
        raise BadArgumentError("Nothing is left in a list that is to give its last array.")
    return TensorList(items[:-1], None, values.dtype, values.shape), items[-1]


define("TensorListPopBack", _pop, outputs="output_handle tensor", static=(1,))


def _concat(values: TensorList, *_: Any) -> tuple[Any, Any]:
    items = _items(values)
    lengths = np.array([np.shape(each)[0] for each in items], np.int64)
    return (arrays.concat(items, 0) if items else np.zeros((0,), values.dtype)), lengths


plain("TensorListConcat TensorListConcatV2", _concat, outputs="tensor lengths")
plain("TensorListGather", lambda values, indices, shape: arrays.gather(values.stack(), indices), static=(2,))
plain(
    "TensorListElementShape",
    lambda values: np.array([-1] if values.element_shape() is None else values.element_shape(), np.int32),
)
plain(
    "TensorListResize",
    lambda values, size: TensorList(
        (_items(values) + [None] * max(0, as_number(size) - len(values)))[: as_number(size)],
        None,
        values.dtype,
        values.shape,
    ),
    static=(1,),
)


def _split(run: OperationContext, node: FileNode, rows: Value, shape: Value, lengths: Value) -> TensorList:
    parts = arrays.split(rows, as_numbers(lengths), 0)
    return TensorList(list(parts), None, node["element_dtype"], None)


define("TensorListSplit", _split, static=(1, 2))

# Arrays of TensorFlow 1: what is in them goes with the number that orders their operations.
define(
    "TensorArrayV3",
    lambda run, node, size: (
        None,
        TensorList([None] * as_number(size), None, node["dtype"], node.get("element_shape")),
    ),
    outputs="handle flow",
    static=(0,),
)
plain("TensorArrayScatterV3", lambda handle, indices, rows, flow: _scatter(indices, rows, flow))
plain("TensorArrayUnpackV3", lambda handle, rows, flow: _of_rows(rows, flow.dtype))
plain("TensorArrayReadV3", lambda handle, index, flow: flow.get(index))
plain("TensorArrayWriteV3", lambda handle, index, value, flow: flow.set(index, value))
plain("TensorArrayGatherV3", lambda handle, indices, flow: _gather(indices, flow))
plain("TensorArraySizeV3", lambda handle, flow: np.int32(len(flow)))
plain("TensorArrayConcatV3", lambda handle, flow: _concat(flow), outputs="value lengths")
plain("TensorArrayCloseV3", lambda handle: ())


def _is_all(indices: Value, count: int) -> bool:
    return not isinstance(indices, jax.core.Tracer) and np.array_equal(indices, np.arange(count))


def _scatter(indices: Value, rows: Value, flow: TensorList) -> TensorList:
    if _is_all(indices, np.shape(rows)[0]) and np.shape(rows)[0] == len(flow):
        return _of_rows(rows, flow.dtype)
    for place, number in enumerate(as_numbers(indices)):
        flow = flow.set(number, rows[place])
    return flow


def _gather(indices: Value, flow: TensorList) -> Any:
    return flow.stack() if _is_all(indices, len(flow)) else arrays.gather(flow.stack(), indices)
