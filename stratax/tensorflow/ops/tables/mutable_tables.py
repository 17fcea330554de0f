"""Tables that change, as `tf.lookup.experimental` (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced, is_tracing
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.core.storage import HostState
from stratax.data.elements import as_element
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.on_host import array_of, is_symbol, on_host
from stratax.tensorflow.ops.tables._table_calls import TableCalls
from stratax.tensorflow.ops.tables.numeric_tables import check_kind, on_device


class MutableHashTable(HostState):
    """A table from keys to values that grows, as `tf.lookup.experimental.MutableHashTable`; on the host.

    A compiled function changes it, and finds what is in it, whenever it runs, one call behind another; what it computes
    are numbers, so keys that are text are known when it is traced. A `Checkpoint` saves what is in it.

    Args:
        key_dtype: The keys' dtype.
        value_dtype: The values' dtype.
        default_value: The value of other keys, whose shape all values have.
        name: The name.
        checkpoint: Ignored: a checkpoint saves whatever table it is given.
        experimental_is_anonymous: Ignored.

    Attributes:
        key_dtype: The keys' dtype.
        value_dtype: The values' dtype.
        name: The name.

    Example:
        >>> import stratax.tf as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        >>> table.insert(["a"], [5])
        >>> table.lookup(["a", "b"]).tolist()
        [5, -1]
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Array,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del checkpoint, experimental_is_anonymous
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self.name = name
        self._default = _convert(default_value, self.value_dtype, "default_value")
        self._values: dict[Any, Any] = {}
        self._calls = TableCalls()

    def size(self, name: str | None = None) -> Any:
        """Return how many keys there are."""
        if is_tracing():
            return self._calls.make(lambda: np.int64(len(self._values)), [], np.int64, ())
        self._calls.wait()
        return as_element(np.int64(len(self._values)))

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> None:
        """Give keys values, instead of those they had.

        Args:
            keys: Keys.
            values: A value for each.
            name: Ignored.

        Raises:
            BadArgumentError: There are not as many values as keys, or they have other shapes.
            BadTypeError: Keys or values are of another kind than the table's.
        """
        self._change(self._insert, keys, values)

    def _insert(self, keys: TensorLike, values: TensorLike) -> None:
        listed = self._keys(keys)
        made = _convert(values, self.value_dtype, "values")
        expected = (*np.shape(array_of(keys)), *self._default.shape)
        if made.shape != expected:
            raise BadArgumentError(
                f"A table takes a value for each key. Expected: shape {expected}. Received: values of {made.shape}."
            )
        self._check_insert(listed)
        rows = made.reshape((len(listed), *self._default.shape))
        # Copies: a row is a view of what the caller may write to.
        # `[()]` makes a scalar of a row without dimensions.
        self._values.update(zip(listed, (np.array(row)[()] for row in rows), strict=True))

    def _check_insert(self, keys: list[Any]) -> None:
        """Take all keys."""

    def remove(self, keys: TensorLike, name: str | None = None) -> None:
        """Take keys out, those that are there."""
        self._change(self._remove, keys)

    def _remove(self, keys: TensorLike) -> None:
        for key in self._keys(keys):
            self._values.pop(key, None)

    def _change(self, change: Callable[..., Any], *operands: object) -> None:
        _refuse_features(*operands)
        if is_tracing():
            self._calls.make(change, [_pack(operand) for operand in operands])
        else:
            self._calls.wait()
            change(*operands)

    def lookup(
        self, keys: TensorLike, dynamic_default_values: TensorLike | None = None, name: str | None = None
    ) -> Any:
        """Return the values of keys.

        Args:
            keys: Keys: an array, a RaggedTensor or a SparseTensor.
            dynamic_default_values: The value of each that is not there, instead of the table's.
            name: Ignored.

        Raises:
            BadTypeError: Keys are of another kind than the table's.
        """
        # Programs that were dispatched before have made their inserts then.
        self._calls.wait()
        keys = _pack(keys)
        if dynamic_default_values is not None:
            return self._with_defaults(keys, _pack(dynamic_default_values))
        if is_tracing() and not self.value_dtype.hasobject and not _is_feature(keys):
            return on_device(self._in_program, keys)
        return on_host(self._look_up, keys, name="lookup", gives=self.value_dtype)

    def _in_program(self, keys: Array) -> Any:
        shape = (*np.shape(keys), *self._default.shape)
        return self._calls.make(lambda given: self._look_up(array_of(given)), [keys], self.value_dtype, shape)

    def __getitem__(self, keys: Array) -> Any:
        return self.lookup(keys)

    def _with_defaults(self, keys: Array, defaults: TensorLike) -> Any:
        if is_tracing():
            return self._calls.make(
                self._find_or_take, [keys, defaults], self.value_dtype, np.shape(defaults)
            )
        return as_element(self._find_or_take(keys, defaults))

    def _find_or_take(self, keys: Array, defaults: object) -> np.ndarray:
        listed, given = self._keys(keys), _convert(defaults, self.value_dtype, "dynamic_default_values")
        rows = given.reshape((len(listed), *self._default.shape))
        found = [self._values.get(key, row) for key, row in zip(listed, rows, strict=True)]
        return np.array(found, self.value_dtype).reshape(given.shape)

    def _look_up(self, keys: np.ndarray) -> np.ndarray:
        default = self._default[()]
        made = np.empty((keys.size, *self._default.shape), self.value_dtype)
        for i, key in enumerate(self._keys(keys)):
            # One by one, as values may be arrays.
            made[i] = self._values.get(key, default)
        return made.reshape((*keys.shape, *self._default.shape))

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values.

        Raises:
            BadTypeError: A compiled function asks for them: it computes arrays of known sizes.
        """
        if is_tracing():
            raise BadTypeError(
                "A compiled function can't export a table, whose size is known when it runs only. Expected: a call "
                f"outside of the function. Received: the table {shown(self.name)}. Use lookup in the function."
            )
        self._calls.wait()
        # Filled one by one: NumPy would make an array of fixed length of `bytes`.
        keys = np.empty(len(self._values), self.key_dtype)
        values = np.empty((len(self._values), *self._default.shape), self.value_dtype)
        keys[:] = list(self._values)
        for i, value in enumerate(self._values.values()):
            values[i] = value
        return as_element(keys), as_element(values)

    def get_state(self) -> dict[str, Any]:
        """Return what is in the table, as a checkpoint saves it."""
        keys, values = (np.asarray(part) for part in self.export())
        return {"keys": _plain(keys), "values": _plain(values)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Have in the table what was in it when `get_state` was called, and nothing else."""
        self._calls.wait()
        count = len(state["keys"])
        values = _of_plain(state["values"], self.value_dtype, (count, *self._default.shape))
        keys = _of_plain(state["keys"], self.key_dtype, (count,)).tolist()
        self._values = dict(zip(keys, (np.array(row)[()] for row in values), strict=True))

    def _keys(self, keys: TensorLike) -> list[Any]:
        array = array_of(keys)
        if array.size:
            check_kind(array, self.key_dtype)
        listed: list[Any] = array.reshape(-1).tolist()
        return listed


class DenseHashTable(MutableHashTable):
    """A table from keys to values that grows, as `tf.lookup.experimental.DenseHashTable`; on the host.

    Args:
        key_dtype: The keys' dtype.
        value_dtype: The values' dtype.
        default_value: The value of other keys, whose shape all values have.
        empty_key: A key that is never put in.
        deleted_key: Another.
        initial_num_buckets: Ignored.
        name: The name.
        checkpoint: Ignored.
        experimental_is_anonymous: Ignored.

    Raises:
        BadArgumentError: The two keys are the same.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Array,
        empty_key: object,
        deleted_key: object,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)
        self._reserved = [self._keys(empty_key)[0], self._keys(deleted_key)[0]]
        if self._reserved[0] == self._reserved[1]:
            raise BadArgumentError(
                f"Empty and deleted keys cannot be equal. Received: empty_key={shown(empty_key)}."
            )

    def _check_insert(self, keys: list[Any]) -> None:
        if any(key in self._reserved for key in keys):
            raise BadArgumentError(
                f"Using the empty_key or deleted_key as a table key is not allowed. Received: {shown(self._reserved)}."
            )


def _is_feature(value: TensorLike) -> bool:
    return is_symbol(value) and not is_traced(value)


def _pack(value: TensorLike) -> Any:
    """Return a list in which there is what a program computes as one array, as TensorFlow; others as they are."""
    return convert_to_tensor(value) if isinstance(value, list | tuple) and _has_traced(value) else value


def _has_traced(value: TensorLike) -> bool:
    return any(map(_has_traced, value)) if isinstance(value, list | tuple) else is_traced(value)


def _refuse_features(*operands: object) -> None:
    feature = next(filter(_is_feature, operands), None)
    if feature is not None:
        raise BadTypeError(
            "A model_fn does not change a table by text, which stays on the host. Expected: keys and values that are "
            f"known, or numbers. Received: {shown(feature)}. Call insert and remove in the input_fn."
        )


def _plain(array: np.ndarray) -> list[Any]:
    """Return an array as JSON can hold it; text as one character for each byte."""
    flat = array.reshape(-1).tolist()
    return [each.decode("latin-1") if isinstance(each, bytes) else each for each in flat]


def _of_plain(flat: list[Any], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    made = np.empty(len(flat), dtype)
    made[:] = [each.encode("latin-1") if isinstance(each, str) else each for each in flat]
    return made.reshape(shape)


def _convert(value: object, dtype: np.dtype, name: str) -> np.ndarray:
    array = array_of(value)
    if array.size and not _fits(array.dtype.kind, dtype.kind):
        raise BadTypeError(
            f"{name} has another dtype. Expected: {as_dtype(dtype).name}. Received: {name}={shown(value)}. Convert it, "
            "as with tf.cast."
        )
    return array.astype(dtype)


def _fits(kind: str, wanted: str) -> bool:
    # bfloat16 is of kind V.
    return kind == wanted or (kind in "iub" and wanted in "iuf") or (kind == "f" and wanted in "Vc")
