"""Tables that change, as `tf.lookup.experimental` (ops layer)."""

from typing import Any

import numpy as np

from stratax._shown import shown
from stratax._typing import DTypeLike
from stratax.data.elements import as_element
from stratax.errors import BadArgumentError, BadTypeError
from stratax.ops import numeric_tables
from stratax.ops.dtypes import as_dtype
from stratax.ops.on_host import array_of, is_symbol, on_host


class MutableHashTable:
    """A table from keys to values that grows, as `tf.lookup.experimental.MutableHashTable`; on the host.

    A compiled function does not change it: call its methods outside, or in `dataset.map`. By keys that are numbers it
    finds what is in the table when it runs, if values are numbers, too.

    Args:
        key_dtype: The keys' dtype.
        value_dtype: The values' dtype.
        default_value: The value of other keys, whose shape all values have.
        name: The name.
        checkpoint: Ignored: :meth:`export` gives what is in it.
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
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del checkpoint, experimental_is_anonymous
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self.name = name
        self._default = _converted(default_value, self.value_dtype, "default_value")
        self._values: dict[Any, Any] = {}

    def size(self, name: str | None = None) -> Any:
        """Return how many keys there are."""
        return as_element(np.int64(len(self._values)))

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Give keys values, instead of those they had.

        Args:
            keys: Keys.
            values: A value for each.
            name: Ignored.

        Raises:
            BadArgumentError: There are not as many values as keys, or they have other shapes.
        """
        _refuse_program(keys, values)
        listed = self._keys(keys)
        made = _converted(values, self.value_dtype, "values")
        expected = (*np.shape(array_of(keys)), *self._default.shape)
        if made.shape != expected:
            raise BadArgumentError(
                f"A table takes a value for each key. Expected: shape {expected}. Received: values of {made.shape}."
            )
        self._check_insert(listed)
        rows = made.reshape((len(listed), *self._default.shape))
        self._values.update(zip(listed, (np.array(row)[()] for row in rows), strict=True))

    def _check_insert(self, keys: list[Any]) -> None:
        """Take all keys."""

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Take keys out, those that are there."""
        _refuse_program(keys)
        for key in self._keys(keys):
            self._values.pop(key, None)

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """Return the values of keys.

        Args:
            keys: Keys: an array, a RaggedTensor or a SparseTensor.
            dynamic_default_values: The value of each that is not there, instead of the table's.
            name: Ignored.
        """
        if dynamic_default_values is not None:
            return self._with_defaults(keys, dynamic_default_values)
        if numeric_tables.is_for_device(keys, self.key_dtype, self.value_dtype):
            return numeric_tables.on_device(self._in_program, keys)
        return on_host(self._looked_up, keys, name="lookup", gives=self.value_dtype)

    def _in_program(self, keys: Any) -> Any:
        return numeric_tables.found_by_host(self._looked_up, keys, self.value_dtype, self._default.shape)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _with_defaults(self, keys: Any, defaults: Any) -> Any:
        listed, given = self._keys(keys), _converted(defaults, self.value_dtype, "dynamic_default_values")
        rows = given.reshape((len(listed), *self._default.shape))
        found = [self._values.get(key, row) for key, row in zip(listed, rows, strict=True)]
        return as_element(np.array(found, self.value_dtype).reshape(given.shape))

    def _looked_up(self, keys: np.ndarray) -> np.ndarray:
        default = self._default[()]
        made = np.empty((keys.size, *self._default.shape), self.value_dtype)
        for i, key in enumerate(self._keys(keys)):
            made[i] = self._values.get(key, default)
        return made.reshape((*keys.shape, *self._default.shape))

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values."""
        keys = np.empty(len(self._values), self.key_dtype)
        values = np.empty((len(self._values), *self._default.shape), self.value_dtype)
        keys[:] = list(self._values)
        for i, value in enumerate(self._values.values()):
            values[i] = value
        return as_element(keys), as_element(values)

    def _keys(self, keys: Any) -> list[Any]:
        array = array_of(keys)
        if (array.dtype.kind == "O") != self.key_dtype.hasobject and array.size:
            raise BadTypeError(
                f"A table was asked for keys of another kind. Expected: {self.key_dtype}. Received: {shown(keys)}."
            )
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
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
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


def _refuse_program(*operands: Any) -> None:
    traced = next(filter(is_symbol, operands), None)
    if traced is not None:
        raise BadTypeError(
            "A compiled function does not change a table, which is on the host. Expected: keys and values that are "
            f"known. Received: {shown(traced)}. Call insert and remove outside of the function, or in tf.py_function."
        )


def _converted(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    array = array_of(value)
    if array.size and (array.dtype.kind == "O") != dtype.hasobject:
        raise BadTypeError(f"{name} has another dtype. Expected: {dtype}. Received: {name}={shown(value)}.")
    return array.astype(dtype)
