"""`tf.TensorArray`: a list of tensors that compiled loops write to and read from (ops layer).

Eagerly, and where numbers are known while a function is traced, it is a list of Python's. Where a loop writes at a
number that only the running program knows, it is an array with one more dimension, as long as the list.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import DTypeLike, TensorLike
from stratax.core import functions
from stratax.core.control import Unallocated, largest_of
from stratax.core.regions import current_region
from stratax.data.elements import TensorShape, as_shape, if_constant
from stratax.data.vectorise import in_pipeline, make_tensors
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.tensorflow.ops.arrays import arrays
from stratax.tensorflow.ops.arrays.left_out import Awaiting, UnwrittenError, is_looking, may_run_again
from stratax.tensorflow.ops.calls._host import is_numpy
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.text import holds_text

# Stands where an element was read, and cleared by that.
_CLEARED = object()


@jax.tree_util.register_pytree_node_class
class TensorArray(Awaiting):
    """A list of tensors of one dtype, as `tf.TensorArray`.

    In a compiled function `write` and its like give a new array and leave this one alone, as in TensorFlow: write
    `array = array.write(i, x)`. Its elements then have one shape, and it has a size: `dynamic_size` makes it longer
    where a number is known while the function is traced, or is what a loop over `tf.range(n)` counts, with an `n` that
    is known. A loop that may end early needs a `size` that is large enough.

    Args:
        dtype: The elements' dtype.
        size: How many elements there are.
        dynamic_size: Whether it gets longer by writing behind its end.
        clear_after_read: Whether, eagerly, an element can be read only once (None: True).
        tensor_array_name: Ignored.
        handle: Refused: there are no handles.
        flow: Ignored.
        infer_shape: Whether all elements have the first one's shape, which is checked eagerly.
        element_shape: The elements' shape, where it is known.
        colocate_with_first_write_call: Ignored.
        name: Ignored.

    Raises:
        BadArgumentError: If there is no size, or a handle.
        BadTypeError: If the size is known only when a compiled function runs.

    Example:
        >>> import stratax.tf as tf
        >>> @tf.function
        ... def squares(n):
        ...     found = tf.TensorArray(tf.int32, size=4)
        ...     for i in tf.range(4):
        ...         found = found.write(i, i * i + n)
        ...     return found.stack()
        >>> squares(tf.constant(1)).tolist()
        [1, 2, 5, 10]
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: object = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: object = None,
        flow: object = None,
        infer_shape: bool = True,
        element_shape: object = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None or size is None:
            raise BadArgumentError(
                "A TensorArray is made with a size. Expected: size=, 0 for one that grows with dynamic_size=True. "
                f"Received: size={shown(size)}, handle={shown(handle)}."
            )
        self._dtype = as_dtype(dtype)
        self._is_dynamic = bool(dynamic_size)
        # None means True, as in TensorFlow.
        self._clears = clear_after_read is not False
        self._infers = bool(infer_shape)
        self._declared = as_shape(element_shape)
        # One of the two: the elements, None where nothing was written, or all in one array.
        self._items: list[Any] = [None] * _require_known("size", size)
        self._buffer: Any = None
        # Of what would have been written: see `Awaiting`.
        self._seen: tuple[int, ...] | None = None

    @property
    def dtype(self) -> np.dtype:
        """The elements' dtype."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether it gets longer by writing behind its end."""
        return self._is_dynamic

    @property
    def element_shape(self) -> Any:
        """The elements' shape, as far as it is known; None if not even its rank is."""
        found = self._shape()
        return None if found is None else TensorShape(found)

    @property
    def handle(self) -> None:
        """There is none."""
        return None

    @property
    def flow(self) -> Any:
        """A number that stands for the order of writes, which is the program's."""
        return np.float32(0)

    def size(self, name: str | None = None) -> Any:
        """Return how many elements there are, a NumPy scalar."""
        return make_tensors(np.int32(self._size()))

    def _awaits_shape(self) -> bool:
        """Return whether nothing tells the shape of its elements yet."""
        return self._infers and self._buffer is None and self._shape() is None

    def identity(self) -> "TensorArray":
        """Return an array of the same elements."""
        return self._copy()

    def close(self, name: str | None = None) -> None:
        """Do nothing: memory is freed where nobody needs it."""

    def grad(self, source: str, flow: object = None, name: str | None = None) -> Any:
        """Refuse: gradients pass through reads and writes by themselves."""
        raise BadArgumentError(
            "A TensorArray has no array of gradients. Use tf.GradientTape, which follows it."
        )

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> "TensorArray":
        """Give an element a value; returns the array with it: eagerly this one.

        Raises:
            BadArgumentError: If the index is out of range, or the value has another shape.
            BadTypeError: If the value has another dtype.
            TracingError: If the array has to grow to a size that only the running program knows.
        """
        value, made = self._tensor(value), self._target()
        if is_looking():
            return self._see(np.shape(value))
        self._check_shape(np.shape(value))
        if is_traced(index):
            # The number is known when the program runs: an array of all elements has a place for each.
            made._reserve(index, np.shape(value))
            made._buffer = made._buffer.at[index].set(value)
            return made
        number = _require_known("index", index)
        size = self._size()
        if number < 0 or (number >= size and not self._is_dynamic):
            raise BadArgumentError(
                f"A TensorArray of size {size} has no element {number}. Expected: an index from 0 to {size - 1}. "
                "Make it with dynamic_size=True, or larger."
            )
        if self._infers and current_region() is None:
            # It is known also when everything that was written is cleared.
            made._seen = np.shape(value)
        if made._buffer is not None:
            made._grow(number + 1)
            made._buffer = made._buffer.at[number].set(value)
        else:
            made._items += [None] * (number + 1 - size)
            made._items[number] = value
            # With what a shape was asked of no more.
            made._left_out = None
        return made

    def read(self, index: TensorLike, name: str | None = None) -> Any:
        """Return an element; zeros where nothing was written, if the shape is known.

        Eagerly, an array that clears what is read has zeros there from then on, in `stack` and its like.

        Raises:
            BadArgumentError: If the index is out of range, nothing was written yet, or, eagerly, the element was read
                before and the array clears what is read.
        """
        if is_traced(index) or self._buffer is not None:
            if not is_traced(index):
                self._check_index(_require_known("index", index))
            return jax.lax.dynamic_index_in_dim(self._whole(), index, 0, keepdims=False)
        number = _require_known("index", index)
        self._check_index(number)
        if self._items[number] is _CLEARED:
            raise _make_cleared_error(number)
        value = self._item(number)
        # While a function is traced nothing is cleared: it is traced twice, and finds the element the second time, too.
        if self._clears and current_region() is None and not in_pipeline() and not functions.IN_PYTHON.get():
            self._items[number] = _CLEARED
        return value

    def stack(self, name: str | None = None) -> Any:
        """Return all elements as one tensor, zeros where nothing was written.

        Raises:
            BadArgumentError: If nothing was written and the shape is not known.
        """
        if self._buffer is not None:
            return self._buffer
        if not self._items:
            self._look()
            if self._awaits_shape() and may_run_again():
                raise self._unwritten(0)
            known = [size or 0 for size in self._shape() or ()]
            return arrays.cast(np.zeros((0, *known), np.float32), self._dtype)
        return arrays.stack([self._item(number) for number in range(len(self._items))])

    def concat(self, name: str | None = None) -> Any:
        """Return all elements one after the other, along their first dimension."""
        if self._buffer is not None:
            return jnp.reshape(self._buffer, (-1, *self._buffer.shape[2:]))
        return arrays.concat([self._item(number) for number in range(len(self._items))], 0)

    def gather(self, indices: TensorLike, name: str | None = None) -> Any:
        """Return some elements as one tensor."""
        if is_traced(indices) or self._buffer is not None:
            return arrays.gather(self._whole(), indices)
        numbers = np.asarray(indices).tolist()
        for number in numbers:
            self._check_index(number)
        return arrays.stack([self._item(number) for number in numbers])

    def unstack(self, value: TensorLike, name: str | None = None) -> "TensorArray":
        """Make the rows of a tensor the elements; returns the array with them.

        Raises:
            BadArgumentError: If there are too many rows, or the tensor is a scalar.
            BadTypeError: If the value has another dtype.
        """
        value, made = self._tensor(value), self._target()
        if is_looking():
            return self._see(np.shape(value)[1:])
        if not np.ndim(value) or (len(value) > self._size() and not self._is_dynamic):
            raise BadArgumentError(
                f"A TensorArray of size {self._size()} takes as many rows at most. Received: a tensor of shape "
                f"{np.shape(value)}. Make it with dynamic_size=True, or of another size."
            )
        self._check_shape(np.shape(value)[1:])
        if current_region() is None or is_numpy(value):
            # Eagerly each row is a tensor; in a program they stay one array, which loops can index.
            made._items, made._buffer = list(arrays.unstack(value)), None
        else:
            made._items, made._buffer = [], value
        return made

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> "TensorArray":
        """Give elements the rows of a tensor as values; returns the array with them."""
        value = self._tensor(value)
        if is_looking():
            return self._see(np.shape(value)[1:])
        if is_traced(indices):
            made = self._target()
            # Which elements get a value is not known: all of them need a place.
            made._allocate(np.shape(value)[1:])
            made._buffer = made._buffer.at[indices].set(value)
            return made
        made = self
        for index, row in zip(np.asarray(indices).tolist(), arrays.unstack(value), strict=True):
            made = made.write(index, row)
        return made

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> "TensorArray":
        """Make parts of a tensor the elements, of these lengths; returns the array with them."""
        value, made = self._tensor(value), self._target()
        made._items, made._buffer = list(arrays.split(value, lengths)), None
        return made

    def tree_flatten(self) -> tuple[tuple[Any], tuple[Any, ...]]:
        """Take it apart as JAX does: into one array, or what stands for one that has no shape yet."""
        aux = self._dtype, self._is_dynamic, self._clears, self._infers, self._declared
        shape = self._full_shape()
        leaf = Unallocated(len(self._items)) if self._buffer is None and shape is None else self._whole()
        return (leaf,), aux

    @classmethod
    def tree_unflatten(cls, aux: tuple[Any, ...], children: Sequence[Any]) -> "TensorArray":
        """Put it together again."""
        made = object.__new__(cls)
        made._dtype, made._is_dynamic, made._clears, made._infers, made._declared = aux
        made._seen = None
        (leaf,) = children
        made._items, made._buffer = [], leaf
        if isinstance(leaf, Unallocated):
            made._items, made._buffer = [None] * leaf.size, None
        elif in_pipeline() and isinstance(leaf, np.ndarray) and len(leaf):
            # The state of a `scan` or `reduce`, which compute on the host.
            made._items, made._buffer = list(leaf), None
        return made

    def __repr__(self) -> str:
        return f"TensorArray(dtype={self._dtype}, size={self._size()}, element_shape={self.element_shape})"

    def _size(self) -> int:
        return len(self._items) if self._buffer is None else int(self._buffer.shape[0])

    def _copy(self) -> "TensorArray":
        made = object.__new__(TensorArray)
        vars(made).update(vars(self))
        # The list only: elements are replaced, and never changed.
        made._items = list(self._items)
        return made

    def _see(self, shape: tuple[int, ...]) -> "TensorArray":
        """Note the shape of what is not written."""
        self._seen = shape
        return self

    def _target(self) -> "TensorArray":
        """Return what a write changes: eagerly this array, in a compiled function a new one."""
        return self if current_region() is None else self._copy()

    def _tensor(self, value: TensorLike) -> Any:
        if holds_text(value) or not hasattr(value, "dtype"):
            return convert_to_tensor(value, self._dtype)
        value = value if is_numpy(value) else convert_to_tensor(value)
        # A device may have 32 bits where TensorFlow has 64.
        if value.dtype != self._dtype and str(value.dtype) != device_dtype(self._dtype):
            raise BadTypeError(
                f"A TensorArray holds one dtype. Expected: {self._dtype}. Received: {value.dtype}. Cast it with "
                "tf.cast."
            )
        return value

    def _shape(self) -> tuple[int | None, ...] | None:
        if self._buffer is not None:
            # What describes an array may stand in its place.
            return None if self._buffer.shape is None else tuple(self._buffer.shape[1:])
        if not self._infers:
            return self._declared
        written = next((item for item in self._items if item is not None and item is not _CLEARED), None)
        if written is not None:
            return np.shape(written)
        return self._seen if self._declared is None else self._declared

    def _full_shape(self) -> tuple[int, ...] | None:
        found = self._shape()
        return None if found is None or None in found else found  # type: ignore[return-value]

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        expected = self._shape()
        if expected is not None and not TensorShape(expected).is_compatible_with(shape):
            raise BadArgumentError(
                f"A TensorArray's elements have one shape. Expected: {expected}. Received: {shape}. Make it with "
                "infer_shape=False, or write elements of one shape."
            )

    def _check_index(self, number: int) -> None:
        if not 0 <= number < self._size():
            raise BadArgumentError(
                f"A TensorArray of size {self._size()} has no element {number}. Expected: an index from 0 to "
                f"{self._size() - 1}."
            )

    def _item(self, number: int) -> Any:
        value = self._items[number]
        # What `unstack` and its like have written tells no shape, in TensorFlow: then they can't be zeros.
        if value is _CLEARED and self._seen is None and self._declared is None:
            raise _make_cleared_error(number)
        if value is not None and value is not _CLEARED:
            return value
        if self._awaits_shape():
            self._look()
        shape = self._full_shape()
        if shape is None:
            raise self._unwritten(number)
        return arrays.cast(np.zeros(shape, np.float32), self._dtype)

    def _unwritten(self, number: int) -> BadArgumentError:
        kind = UnwrittenError if may_run_again() else BadArgumentError
        return kind(
            f"Nothing was written to element {number} of a TensorArray, and the shape of its elements is not "
            "known. Write it first, or make the array with element_shape=."
        )

    def _whole(self) -> Any:
        """Return all elements as one array on the device."""
        return self._buffer if self._buffer is not None else convert_to_tensor(self.stack())

    def _allocate(self, shape: tuple[int, ...]) -> None:
        # The first write at a traced index: from then on all elements are in one array.
        if self._buffer is None and any(item is not None for item in self._items):
            self._buffer, self._items = self._whole(), []
        elif self._buffer is None:
            self._buffer = jnp.zeros((len(self._items), *shape), device_dtype(self._dtype))
            self._items = []

    def _grow(self, size: int) -> None:
        if (missing := size - self._size()) > 0:
            self._buffer = jnp.pad(self._buffer, [(0, missing)] + [(0, 0)] * (self._buffer.ndim - 1))

    def _reserve(self, index: TensorLike, shape: tuple[int, ...]) -> None:
        """Make one array of it that has an element for every value of a traced index."""
        self._allocate(shape)
        if not self._is_dynamic:
            return
        # The counter of a loop over a known range has a largest value; other numbers have none.
        largest = largest_of(index)
        if largest is None:
            raise TracingError(
                "A TensorArray of dynamic size is written at a number that only the running program knows. Expected: "
                "the number that a loop over `tf.range(n)` counts, in every iteration, with an n that is known while "
                f"the function is traced. Received: index={shown(index)}. Make the array with "
                "size=<the largest that it can get> instead of dynamic_size=True, and count what is used in a local."
            )
        self._grow(largest + 1)


def _make_cleared_error(number: int) -> BadArgumentError:
    return BadArgumentError(
        f"Element {number} of a TensorArray was read before, which cleared it. Make the array with "
        "clear_after_read=False."
    )


def _require_known(name: str, value: TensorLike) -> int:
    value = if_constant(value)
    if is_traced(value):
        raise BadTypeError(
            f"A compiled function has to know the {name} of a TensorArray before it runs. Expected: a Python or NumPy "
            f"number, such as a tensor's shape. Received: {name}={shown(value)}."
        )
    return int(value)
