"""Tables from keys to values, as `tf.lookup` (ops layer)."""

from typing import Any

import numpy as np

from stratax import errors
from stratax.base.recording import recordable
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, StrPath, TensorLike
from stratax.core.storage import HostConstant
from stratax.data.elements import as_array, if_constant
from stratax.data.vectorise import make_tensors
from stratax.io import gfile
from stratax.tensorflow.ops.calls.dtypes import as_dtype, string
from stratax.tensorflow.ops.calls.on_host import on_host
from stratax.tensorflow.ops.tables import numeric_tables
from stratax.tensorflow.ops.text.fingerprints import Fingerprints, hash_buckets


class TextFileIndex:
    """What of a file's lines are keys and values, as `tf.lookup.TextFileIndex`."""

    # TensorFlow's numbers: those from 0 on are columns.
    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer:
    """Keys and their values, as `tf.lookup.KeyValueTensorInitializer`.

    Args:
        keys: Strings or numbers.
        values: As many strings or numbers.
        key_dtype: The keys' dtype; by default that which they have.
        value_dtype: The values' dtype.
        name: Ignored.

    Attributes:
        key_dtype: The keys' dtype; `object` for strings.
        value_dtype: The values' dtype.

    Raises:
        BadArgumentError: There are not as many values as keys, or a key has two values.
    """

    def __init__(
        self,
        keys: object,
        values: object,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        del name
        found = [_flat(keys, key_dtype), _flat(values, value_dtype)]
        if len(found[0]) != len(found[1]):
            raise errors.BadArgumentError(
                f"A table has a value for each key. Received: {len(found[0])} keys and {len(found[1])} values."
            )
        self.key_dtype, self.value_dtype = found[0].dtype, found[1].dtype
        self._pairs = (found[0].tolist(), found[1].tolist())

    def table(self) -> dict[Any, Any]:
        """Return the values by key."""
        return _table(*self._pairs)


class TextFileInitializer:
    """Keys and values in a file of text, as `tf.lookup.TextFileInitializer`.

    Args:
        filename: The path or URL of the file.
        key_dtype: The keys' dtype.
        key_index: Which column they are, or one of :class:`TextFileIndex`.
        value_dtype: The values' dtype.
        value_index: Which column they are, or one of :class:`TextFileIndex`.
        vocab_size: How many lines there are; None for as many as there are.
        delimiter: What stands between columns.
        name: Ignored.
        value_index_offset: Added to the number of a line.

    Attributes:
        key_dtype: The keys' dtype.
        value_dtype: The values' dtype.

    Raises:
        BadArgumentError: The name is empty.
    """

    def __init__(
        self,
        filename: StrPath,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        del name
        if not filename:
            raise errors.BadArgumentError(
                f"filename must not be empty. Received: filename={shown(filename)}."
            )
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._path = str(filename)
        self._indices = (key_index, value_index)
        self._size = vocab_size
        self._delimiter = delimiter.encode()
        self._offset = value_index_offset

    def table(self) -> dict[Any, Any]:
        """Return the values by key, read from the file.

        Raises:
            BadArgumentError: The file has fewer lines than `vocab_size`, a line too few columns, or a key two values.
            FileMissingError: There is no such file.
        """
        # TensorFlow's reader leaves carriage returns out.
        lines = gfile.read_file(self._path).replace(b"\r", b"").split(b"\n")
        # A newline at the end of the file begins no line.
        lines = lines if lines[-1] else lines[:-1]
        if self._size is not None and len(lines) < self._size:
            raise errors.BadArgumentError(
                f"Invalid vocab_size in {shown(self._path)}: expected {self._size} but got {len(lines)}. Pass the "
                "right size, or none."
            )
        # A longer file is read up to there, as by TensorFlow, which logs a warning.
        lines = lines[: self._size]
        dtypes = (self.key_dtype, self.value_dtype)
        keys, values = (
            [self._part(number, line, index, dtype) for number, line in enumerate(lines)]
            for index, dtype in zip(self._indices, dtypes, strict=True)
        )
        return _table(keys, values)

    def _part(self, number: int, line: bytes, index: int, dtype: np.dtype) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return number + self._offset
        columns = [line] if index == TextFileIndex.WHOLE_LINE else line.split(self._delimiter)
        # A whole line is the first of its columns.
        column = max(index, 0)
        if column >= len(columns):
            raise errors.BadArgumentError(
                f"Invalid number of columns in {shown(self._path)} line {number} ({shown(line)}): expected "
                f"{column + 1} got {len(columns)}."
            )
        if dtype.kind == "O":
            return columns[column]
        try:
            return (int if dtype.kind in "iu" else float)(_without_underscores(columns[column]))
        except ValueError as e:
            raise errors.BadArgumentError(
                f"A line of {shown(self._path)} has no number of {dtype}. Received: {shown(columns[column])} in line "
                f"{number}. Mend the line, or pass tf.string."
            ) from e


def _without_underscores(number: bytes) -> bytes:
    """Return a number as it is; Python would read 1_000 as one, and TensorFlow does not."""
    if b"_" in number:
        raise ValueError(number)
    return number


class StaticHashTable(HostConstant):
    """A table from keys to values, as `tf.lookup.StaticHashTable`.

    A compiled function finds values of numbers by keys that are numbers. In a `model_fn` text is looked up on the host
    before each step, and what is computed there (the classes that a model finds) after it.

    Args:
        initializer: A :class:`KeyValueTensorInitializer` or :class:`TextFileInitializer`.
        default_value: The value of other keys.
        name: Ignored.
        experimental_is_anonymous: Ignored.

    Attributes:
        key_dtype: The keys' dtype.
        value_dtype: The values' dtype.

    Example:
        >>> import stratax.tf as tf
        >>> colors = tf.lookup.KeyValueTensorInitializer(["red", "green"], [0, 1])
        >>> tf.lookup.StaticHashTable(colors, -1).lookup(["green", "blue"]).tolist()
        [1, -1]
    """

    def __init__(
        self,
        initializer: Any,
        default_value: TensorLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del name, experimental_is_anonymous
        self.key_dtype, self.value_dtype = initializer.key_dtype, initializer.value_dtype
        self._default = _flat([default_value], self.value_dtype).tolist()[0]
        # At once: TensorFlow 1 fills it when its `initializer` is run, before which nobody can look anything up.
        self._values = initializer.table()
        # Made when a program first looks keys up.
        self._sorted: numeric_tables.SortedKeys | None = None

    @property
    def default_value(self) -> Any:
        """The value of other keys."""
        return self._default

    @property
    def initializer(self) -> None:
        """What TensorFlow 1 runs to fill the table: nothing."""
        return

    def size(self, name: str | None = None) -> Any:
        """Return how many keys there are."""
        del name
        return make_tensors(np.int64(len(self._values)))

    @recordable
    def lookup(self, keys: TensorLike, name: str | None = None) -> Any:
        """Return the values of keys.

        Args:
            keys: Strings or whole numbers, or a SparseTensor of them.
            name: Ignored.

        Returns:
            Values of the keys' shape: on the host for keys with values, in a `model_fn` numbers of the step; strings of
            what it computes are predictions.

        Raises:
            BadTypeError: The keys are of another kind than the table's.
        """
        del name
        if numeric_tables.is_for_device(keys, self.key_dtype, self.value_dtype):
            return numeric_tables.on_device(self._in_program, keys)
        return on_host(self._look_up, keys, name="lookup", gives=self.value_dtype)

    def _in_program(self, keys: Array) -> Any:
        numeric_tables.check_kind(keys, self.key_dtype)
        if self._sorted is None:
            made = self.as_constants()
            self._sorted = numeric_tables.SortedKeys(made["keys"], made["values"], made["default_value"])
        return self._sorted.find(keys)

    def __getitem__(self, keys: Array) -> Any:
        return self.lookup(keys)

    def as_constants(self) -> dict[str, Any]:
        """Return what the table is made of: keys, values, and the value of other keys."""
        values = _flat(list(self._values.values()), self.value_dtype)
        return {
            "keys": _flat(list(self._values), self.key_dtype),
            "values": values,
            "default_value": self._default,
        }

    def _look_up(self, keys: np.ndarray) -> np.ndarray:
        numeric_tables.check_kind(keys, self.key_dtype)
        find, default = self._values.get, self._default
        # Filled and not made of a list: NumPy would make strings of `bytes`, which lose zeros at their ends.
        made = np.empty(keys.size, self.value_dtype)
        made[:] = [find(key, default) for key in keys.reshape(-1).tolist()]
        return made.reshape(keys.shape)


class StaticVocabularyTable(HostConstant):
    """A table from strings to ids, of which others have hashes, as `tf.lookup.StaticVocabularyTable`.

    Args:
        initializer: As of :class:`StaticHashTable`, whose values are ids; None for hashes only.
        num_oov_buckets: How many ids from the table's size on are for hashes of other keys.
        lookup_key_dtype: The dtype of keys to look up: strings, or whole numbers.
        name: Ignored.
        experimental_is_anonymous: Ignored.

    Attributes:
        key_dtype: The keys' dtype.
        value_dtype: The ids' dtype.

    Raises:
        BadArgumentError: The number of buckets is not positive.

    Example:
        >>> import stratax.tf as tf
        >>> colors = tf.lookup.KeyValueTensorInitializer(["red", "green"], [0, 1], tf.string, tf.int64)
        >>> tf.lookup.StaticVocabularyTable(colors, 1).lookup(["green", "blue"]).tolist()
        [1, 2]
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del name, experimental_is_anonymous
        if num_oov_buckets <= 0:
            raise errors.BadArgumentError(
                f"oov_buckets must be > 0. Received: num_oov_buckets={shown(num_oov_buckets)}. Use StaticHashTable."
            )
        self._num_oov_buckets = int(num_oov_buckets)
        self._ids: dict[Any, Any] = {} if initializer is None else initializer.table()
        # Without an initializer all keys are hashed, which are text unless it is said.
        given = np.dtype(object) if initializer is None else initializer.key_dtype
        self.key_dtype = given if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        self.value_dtype = np.dtype(np.int64)
        self._fingerprints = Fingerprints()

    @property
    def initializer(self) -> None:
        """What TensorFlow 1 runs to fill the table: nothing."""
        return

    def size(self, name: str | None = None) -> Any:
        """Return how many ids there are."""
        del name
        return make_tensors(np.int64(len(self._ids) + self._num_oov_buckets))

    @recordable
    def lookup(self, keys: TensorLike, name: str | None = None) -> Any:
        """Return the ids of keys: see :meth:`StaticHashTable.lookup`.

        Args:
            keys: Strings or whole numbers, or a SparseTensor of them.
            name: Ignored.

        Raises:
            BadTypeError: The keys are of another kind than the table's.
        """
        del name
        if numeric_tables.is_for_device(keys, self.key_dtype, self.value_dtype):
            return numeric_tables.on_device(self._in_program, keys)
        return on_host(self._look_up, keys, name="lookup", gives=np.int64)

    def _in_program(self, keys: Array) -> Any:
        numeric_tables.check_kind(keys, self.key_dtype)
        # Ids of other keys are hashes of text.
        return numeric_tables.find_by_host(self._look_up, keys, np.int64)

    def __getitem__(self, keys: Array) -> Any:
        return self.lookup(keys)

    def as_constants(self) -> dict[str, Any]:
        """Return what the table is made of: keys in the order of their ids, and how many buckets are behind them.

        Raises:
            BadArgumentError: Its ids are not those of a list.
        """
        if sorted(self._ids.values()) != list(range(len(self._ids))):
            raise errors.BadArgumentError(
                "The ids of a vocabulary that is exported are each of 0 to one less than its size, once. Received: "
                f"{shown(sorted(self._ids.values()))}. Make the table of such values."
            )
        keys = _flat(sorted(self._ids, key=self._ids.__getitem__), self.key_dtype)
        return {"keys": keys, "num_oov_buckets": self._num_oov_buckets}

    def _look_up(self, keys: np.ndarray) -> np.ndarray:
        numeric_tables.check_kind(keys, self.key_dtype)
        given = keys.reshape(-1).tolist()
        # No id is negative: -1 stands for none.
        ids = np.array([self._ids.get(key, -1) for key in given], np.int64)
        others = np.flatnonzero(ids < 0)
        if len(others):
            words = self._fingerprints.of([given[index] for index in others])
            ids[others] = hash_buckets(words, self._num_oov_buckets) + len(self._ids)
        return ids.reshape(keys.shape)


def index_table_from_tensor(
    vocabulary_list: TensorLike,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: object = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> StaticHashTable | StaticVocabularyTable:
    """Return a table from entries to their places, as `tf.contrib.lookup.index_table_from_tensor`.

    Args:
        vocabulary_list: Strings or whole numbers.
        num_oov_buckets: How many ids behind the last one are for hashes of others.
        default_value: The id of others, without buckets.
        hasher_spec: Must be None: TensorFlow's default.
        dtype: The entries' dtype.
        name: Ignored.

    Raises:
        BadArgumentError: There are no entries, or another hash is asked for.
    """
    if hasher_spec is not None:
        raise errors.BadArgumentError(
            f"Other hashes than the default are not supported. Received: hasher_spec={shown(hasher_spec)}."
        )
    entries = _flat(vocabulary_list, dtype)
    if not len(entries):
        raise errors.BadArgumentError(
            f"vocabulary_list must not be empty. Received: {shown(vocabulary_list)}."
        )
    made = KeyValueTensorInitializer(entries, np.arange(len(entries)), value_dtype=np.int64)
    return _make_table(made, num_oov_buckets, default_value)


def index_table_from_file(
    vocabulary_file: StrPath,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: object = None,
    key_dtype: DTypeLike = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> StaticHashTable | StaticVocabularyTable:
    """Return a table from a file's lines to their numbers, as `tf.contrib.lookup.index_table_from_file`.

    Args:
        vocabulary_file: The path or URL of the file.
        num_oov_buckets: As in :func:`index_table_from_tensor`.
        vocab_size: How many lines there are; None for as many as there are.
        default_value: As in :func:`index_table_from_tensor`.
        hasher_spec: Must be None: TensorFlow's default.
        key_dtype: The entries' dtype.
        name: Ignored.
        key_column_index: Which column the entries are.
        value_column_index: Which column the ids are.
        delimiter: What stands between columns.

    Raises:
        BadArgumentError: Another hash is asked for, or the file is too short.
    """
    if hasher_spec is not None:
        raise errors.BadArgumentError(
            f"Other hashes than the default are not supported. Received: hasher_spec={shown(hasher_spec)}."
        )
    made = TextFileInitializer(
        vocabulary_file, key_dtype, key_column_index, np.int64, value_column_index, vocab_size, delimiter
    )
    return _make_table(made, num_oov_buckets, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: TensorLike, default_value: str = "UNK", name: str | None = None
) -> StaticHashTable:
    """Return a table from places to strings, as `tf.contrib.lookup.index_to_string_table_from_tensor`.

    Args:
        vocabulary_list: Strings.
        default_value: The string of other places.
        name: Ignored.
    """
    entries = _flat(vocabulary_list, string)
    return StaticHashTable(KeyValueTensorInitializer(np.arange(len(entries)), entries), default_value)


def index_to_string_table_from_file(
    vocabulary_file: StrPath,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """Return a table from numbers to a file's lines, as `tf.contrib.lookup.index_to_string_table_from_file`.

    Args:
        vocabulary_file: The path or URL of the file.
        vocab_size: How many lines there are; None for as many as there are.
        default_value: The string of other numbers.
        name: Ignored.
        key_column_index: Which column the numbers are.
        value_column_index: Which column the strings are.
        delimiter: What stands between columns.

    Raises:
        BadArgumentError: The file is too short.
    """
    made = TextFileInitializer(
        vocabulary_file, np.int64, key_column_index, string, value_column_index, vocab_size, delimiter
    )
    return StaticHashTable(made, default_value)


def _make_table(
    made: TensorLike, num_oov_buckets: int, default_value: int
) -> StaticHashTable | StaticVocabularyTable:
    return (
        StaticVocabularyTable(made, num_oov_buckets)
        if num_oov_buckets
        else StaticHashTable(made, default_value)
    )


def _flat(values: TensorLike, dtype: DTypeLike | None) -> np.ndarray:
    array = np.asarray(as_array(if_constant(values)))
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is not None and (array.dtype.kind == "O") != (wanted.kind == "O"):
        raise errors.BadTypeError(
            f"A table's keys or values have another dtype. Expected: {wanted}. Received: {shown(values)}."
        )
    return array.reshape(-1) if wanted is None else array.reshape(-1).astype(wanted)


def _table(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        # The same pair may come twice, as in TensorFlow.
        if made.setdefault(key, value) != value:
            raise errors.BadArgumentError(
                f"A table has one value for each key. Received: {shown(made[key])} and {shown(value)} for {shown(key)}."
            )
    return made
