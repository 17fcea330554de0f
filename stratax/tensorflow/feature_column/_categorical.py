"""Columns that make ids of strings and whole numbers: hashes, vocabularies, identity (feature_column layer)."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data import VarLenFeature
from stratax.tensorflow.feature_column._cells import Cells
from stratax.tensorflow.feature_column._column import CategoricalColumn, check_categorical, check_key
from stratax.tensorflow.feature_column._sources import (
    DeviceFeatures,
    HostFeatures,
    KnownStrings,
    num_elements,
)
from stratax.tensorflow.feature_column._vocabulary import Vocabulary, count_lines, read_vocabulary
from stratax.tensorflow.ops.calls.dtypes import as_dtype, string
from stratax.tensorflow.ops.text.fingerprints import hash_buckets


class _OfOneFeature(CategoricalColumn):
    """A column of ids of one feature."""

    key: str

    @property
    def name(self) -> str:
        return self.key

    @property
    def keys_read(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def is_by_row(self) -> bool:
        return True

    def arrays(self, features: HostFeatures) -> dict[str, np.ndarray]:
        # A string's id is computed when it comes for the first time; from then on it is taken from a table.
        coded = features.encode_feature(self.key)
        if coded is None:
            return super().arrays(features)
        # The Transformation that has the tables keeps the column, so that no other object gets its id.
        # By identity: a column with a vocabulary takes long to compare.
        return {
            "ids": coded.map_strings(("ids", id(self)), lambda strings: self._ids_of(strings, features.known))
        }

    def _ids_of(self, strings: list[Any], known: KnownStrings) -> np.ndarray:
        # One column of strings, as rows of a batch, and not an array of their characters or of fixed length.
        values = np.empty((len(strings), 1), object)
        values[:, 0] = strings
        # As a batch of their own, which knows the same fingerprints.
        return super().arrays(HostFeatures({self.key: values}, known))["ids"].reshape(-1)


@dataclasses.dataclass(frozen=True)
class HashedCategoricalColumn(_OfOneFeature):
    """What :func:`categorical_column_with_hash_bucket` gives."""

    key: str
    hash_bucket_size: int
    dtype: np.dtype

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        # As many values as an Example has: of categories TensorFlow, too, always parses SparseTensors.
        return {self.key: VarLenFeature(_find_parsed_dtype(self.dtype))}

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def cells(self, features: HostFeatures) -> Cells:
        cells = _cells_of_dtype(self.key, self.dtype, features)
        # Also where there is no value: the mask says which of them count. Other columns of the feature share its words.
        return dataclasses.replace(
            cells, values=hash_buckets(features.words(self.key), self.hash_bucket_size)
        )


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = string
) -> HashedCategoricalColumn:
    """Return a column of hashes, as `tf.feature_column.categorical_column_with_hash_bucket`.

    Args:
        key: The feature's name. In a dense feature an empty string, or -1, is no value.
        hash_bucket_size: The number of ids.
        dtype: `tf.string`, or a dtype of whole numbers, which are hashed as decimal text.

    Raises:
        BadArgumentError: The key is no string, the size not positive, or the dtype another one.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> word = fc.categorical_column_with_hash_bucket("word", 100)
        >>> fc.Transformation([word]).host_features({"word": np.array(["a", "hello", ""])})["word/ids"].tolist()
        [[39], [96], [-1]]
    """
    check_key(key)
    if not isinstance(hash_bucket_size, int | np.integer) or hash_bucket_size < 1:
        raise errors.BadArgumentError(
            "hash_bucket_size must be a whole number of at least 1. "
            f"Received: hash_bucket_size={shown(hash_bucket_size)}, key={shown(key)}."
        )
    return HashedCategoricalColumn(key, int(hash_bucket_size), _check_dtype(key, dtype))


@dataclasses.dataclass(frozen=True)
class VocabularyListCategoricalColumn(_OfOneFeature):
    """What :func:`categorical_column_with_vocabulary_list` gives."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: np.dtype
    default_value: int
    num_oov_buckets: int

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(_find_parsed_dtype(self.dtype))}

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def cells(self, features: HostFeatures) -> Cells:
        cells = _cells_of_dtype(self.key, self.dtype, features)
        return cells.map_values(lambda values: self._vocabulary.lookup(values, features.known.fingerprints))

    @property
    def entries(self) -> tuple[Any, ...]:
        """What has ids, in their order."""
        return tuple(each.encode() if isinstance(each, str) else each for each in self.vocabulary_list)

    # `cached_property` writes into `__dict__` itself, which a frozen dataclass allows.
    @functools.cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self.vocabulary_list, self.default_value, self.num_oov_buckets)


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """Return a column of places in a list, as `tf.feature_column.categorical_column_with_vocabulary_list`.

    Args:
        key: The feature's name. In a dense feature an empty string, or -1, is no value.
        vocabulary_list: Different strings or whole numbers; the id of each is where it stands.
        dtype: `tf.string` or a dtype of whole numbers; by default that of the list.
        default_value: The id of what is not in the list; -1 for none.
        num_oov_buckets: How many ids behind those of the list are for hashes of what is not in it.

    Raises:
        BadArgumentError: The list is empty, has something twice, or does not fit the dtype; or both a default and
            buckets are given.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> color = fc.categorical_column_with_vocabulary_list("color", ["red", "green"])
        >>> fc.input_layer({"color": np.array(["green", "blue"])}, [fc.indicator_column(color)]).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    check_key(key)
    entries = tuple(vocabulary_list) if vocabulary_list is not None else ()
    if not entries:
        raise errors.BadArgumentError(
            f"vocabulary_list must not be empty. Received: vocabulary_list={shown(vocabulary_list)}, key={shown(key)}."
        )
    if len(set(entries)) != len(entries):
        # Slow, and only for the message.
        twice = next(entry for index, entry in enumerate(entries) if entry in entries[:index])
        raise errors.BadArgumentError(
            f"vocabulary_list has {shown(twice)} more than once, key={shown(key)}. Leave repeated entries out."
        )
    found = _check_dtype(key, np.asarray(entries).dtype)
    wanted = found if dtype is None else _check_dtype(key, dtype)
    # TensorFlow, too, tells text from numbers only: int32 and int64 fit one another.
    if (wanted.kind == "O") != (found.kind == "O"):
        raise errors.BadArgumentError(
            f"vocabulary_list and dtype do not match. Received: dtype={wanted}, vocabulary_list={shown(entries)}, "
            f"key={shown(key)}."
        )
    # The argument's own default, -1, can't be told from none.
    _check_unknown(key, num_oov_buckets, None if default_value == -1 else default_value)
    return VocabularyListCategoricalColumn(key, entries, wanted, int(default_value), int(num_oov_buckets))


@dataclasses.dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_OfOneFeature):
    """What :func:`categorical_column_with_vocabulary_file` gives."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: np.dtype
    default_value: int
    file_format: str | None = None

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(_find_parsed_dtype(self.dtype))}

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def cells(self, features: HostFeatures) -> Cells:
        cells = _cells_of_dtype(self.key, self.dtype, features)
        return cells.map_values(lambda values: self._vocabulary.lookup(values, features.known.fingerprints))

    @property
    def entries(self) -> tuple[Any, ...]:
        """What has ids, in their order."""
        return tuple(
            read_vocabulary(
                self.key, self.vocabulary_file, self.vocabulary_size, self.dtype, self.file_format
            )
        )

    # Files are read when the first batch comes, and then kept.
    @functools.cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self.entries, self.default_value, self.num_oov_buckets)


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: DTypeLike = string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
    file_format: str | None = None,
) -> VocabularyFileCategoricalColumn:
    """Return a column of places in a file, as `tf.feature_column.categorical_column_with_vocabulary_file`.

    Args:
        key: The feature's name. In a dense feature an empty string, or -1, is no value.
        vocabulary_file: A path or URL of a file with one entry in each line; the id of each is its line, from 0.
        vocabulary_size: How many lines are used; None for all of them.
        dtype: `tf.string` or a dtype of whole numbers.
        default_value: The id of what is not in the file; None for none.
        num_oov_buckets: How many ids behind those of the file are for hashes of what is not in it.
        file_format: ``"tfrecord_gzip"`` for a compressed file of records, which files are whose names end in
            `tfrecord.gz`; None for text.

    Raises:
        BadArgumentError: The file is empty or not named, or both a default and buckets are given.
        FileMissingError: There is no such file, if `vocabulary_size` is not given; else when it is first used.
    """
    check_key(key)
    if not vocabulary_file:
        raise errors.BadArgumentError(
            f"vocabulary_file is missing, key={shown(key)}. Pass the path of a file with one entry in each line."
        )
    path = str(vocabulary_file)
    # As TensorFlow finds it out.
    if file_format is None and path.endswith("tfrecord.gz"):
        file_format = "tfrecord_gzip"
    # The number of buckets is a variable's shape, so that it has to be known now; the entries are read on first use.
    size = count_lines(path, file_format) if vocabulary_size is None else vocabulary_size
    if size < 1:
        raise errors.BadArgumentError(
            f"A vocabulary has one entry at least. Received: vocabulary_size={shown(size)}, vocabulary_file="
            f"{shown(path)}, key={shown(key)}."
        )
    _check_unknown(key, num_oov_buckets, default_value)
    return VocabularyFileCategoricalColumn(
        key,
        path,
        int(size),
        # None means no buckets, as in TensorFlow.
        int(num_oov_buckets or 0),
        _check_dtype(key, dtype),
        -1 if default_value is None else int(default_value),
        file_format,
    )


def categorical_column_with_vocabulary_file_v1(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> VocabularyFileCategoricalColumn:
    """Return a column of places in a file; `tf.compat.v1` has the arguments in this order.

    Args:
        key: As in :func:`categorical_column_with_vocabulary_file`, as the others.
        vocabulary_file: See there.
        vocabulary_size: See there.
        num_oov_buckets: See there.
        default_value: See there.
        dtype: See there.
    """
    return categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
    )


@dataclasses.dataclass(frozen=True)
class IdentityCategoricalColumn(_OfOneFeature):
    """What :func:`categorical_column_with_identity` gives."""

    key: str
    number_buckets: int
    default_value: int | None

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature("int64")}

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    def cells(self, features: HostFeatures) -> Cells:
        return _cells_of_dtype(self.key, np.dtype("int64"), features).map_values(self._in_range)

    def _in_range(self, values: np.ndarray) -> np.ndarray:
        ids = values.astype(np.int64)
        # Ids that are too large are refused later, where the column's name is known.
        if self.default_value is None:
            return ids
        # -1 of a SparseTensor is a value, and out of range like others; that of a dense feature was left out before.
        return np.where((ids < 0) | (ids >= self.number_buckets), self.default_value, ids)

    @property
    # Whole numbers are their own ids: nothing is looked up.
    def needs_host(self) -> bool:
        return False

    def device_ids(self, features: DeviceFeatures) -> tuple[Any, Any]:
        values = features.raw(self.key)
        if not jnp.issubdtype(values.dtype, jnp.integer):
            raise _wrong_dtype(self.key, np.dtype("int64"), values.dtype)
        # 32 bits, as `_id_arrays` gives ids of the host.
        ids = values.reshape(-1, num_elements(values.shape[1:])).astype(jnp.int32)
        # Without a default, ids out of range stay: a program can't raise, and their embeddings are zeros.
        if self.default_value is not None:
            # -1 is no value, and not one out of range: it stays.
            known = (ids >= 0) & (ids < self.number_buckets)
            ids = jnp.where(known | (ids == -1), ids, self.default_value)
        return ids, None


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Return a column of whole numbers as they are, as `tf.feature_column.categorical_column_with_identity`.

    Args:
        key: The feature's name. In a dense feature -1 is no value.
        num_buckets: The number of ids: values are from 0 to it.
        default_value: The id of other values. None: larger ones are an error, negative ones no value.

    Raises:
        BadArgumentError: The key is no string, or a number out of range.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> room = fc.categorical_column_with_identity("room", 3, default_value=0)
        >>> fc.input_layer({"room": np.array([2, 7])}, [fc.indicator_column(room)]).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    check_key(key)
    if num_buckets < 1:
        raise errors.BadArgumentError(
            f"num_buckets must be at least 1. Received: num_buckets={shown(num_buckets)}, key={shown(key)}."
        )
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise errors.BadArgumentError(
            f"default_value must be one of the ids, 0 to {num_buckets - 1}. "
            f"Received: default_value={shown(default_value)}, key={shown(key)}."
        )
    return IdentityCategoricalColumn(key, int(num_buckets), default_value)


@dataclasses.dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """What :func:`weighted_categorical_column` gives."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: np.dtype

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise errors.BadArgumentError(
                f"Feature {shown(self.weight_feature_key)} is both the weights and the values of {self.name}. "
                "Give the weights a feature of their own."
            )
        return {**spec, self.weight_feature_key: VarLenFeature(_find_parsed_dtype(self.dtype))}

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    @property
    def keys_read(self) -> tuple[str, ...]:
        return (*self.categorical_column.keys_read, self.weight_feature_key)

    def cells(self, features: HostFeatures) -> Cells:
        ids = self.categorical_column.cells(features)
        weights = features.raw(self.weight_feature_key)
        # Whole or floating-point decides, and not the width: lists have NumPy's own.
        if weights.values.dtype.kind not in "iuf" or (weights.values.dtype.kind == "f") != (
            self.dtype.kind == "f"
        ):
            raise _wrong_dtype(self.weight_feature_key, self.dtype, weights.values.dtype)
        # A dense weight of 0 is a cell that a SparseTensor would not have, as TensorFlow converts it.
        weights = weights.without(0)
        _check_weights(self, ids, weights)
        return dataclasses.replace(ids, weights=np.where(weights.mask, weights.values, 0).astype(np.float32))


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DTypeLike = "float32"
) -> WeightedCategoricalColumn:
    """Return a column of ids with weights, as `tf.feature_column.weighted_categorical_column`.

    Args:
        categorical_column: The column of the ids.
        weight_feature_key: The feature with a weight for each value. In a dense feature 0 is no weight.
        dtype: The dtype of the weights.

    Raises:
        BadArgumentError: The column gives no ids, or the dtype is not of numbers.
    """
    kind = as_dtype(dtype)
    if kind.kind not in "iuf":
        raise errors.BadArgumentError(f"dtype must be of numbers. Received: dtype={shown(dtype)}.")
    check_key(weight_feature_key)
    return WeightedCategoricalColumn(check_categorical(categorical_column), weight_feature_key, kind)


def _find_parsed_dtype(dtype: np.dtype) -> str:
    """Return the dtype that a feature of a column has in Examples."""
    # The three dtypes that an Example can hold.
    return {"O": "string", "f": "float32"}.get(dtype.kind, "int64")


def _check_dtype(key: str, dtype: Any) -> np.dtype:
    found = as_dtype(dtype)
    # NumPy's own strings, of fixed length, are text, too: a list of `str` becomes them.
    if found.kind in "SU":
        found = np.dtype(object)
    if found.kind not in "Oiu":
        raise errors.BadArgumentError(
            f"dtype must be tf.string or of whole numbers. Received: dtype={found}, key={shown(key)}."
        )
    return found


def _check_unknown(key: str, num_oov_buckets: Any, default_value: object) -> None:
    if num_oov_buckets and default_value is not None:
        raise errors.BadArgumentError(
            "What is not in the vocabulary gets either a default or a bucket. Received: "
            f"default_value={shown(default_value)}, num_oov_buckets={shown(num_oov_buckets)}, key={shown(key)}. "
            "Pass one of them."
        )
    if num_oov_buckets and num_oov_buckets < 0:
        raise errors.BadArgumentError(
            f"num_oov_buckets must not be negative. Received: num_oov_buckets={shown(num_oov_buckets)}, "
            f"key={shown(key)}."
        )


def _cells_of_dtype(key: str, dtype: np.dtype, features: HostFeatures) -> Cells:
    cells = features.raw(key)
    found = cells.values.dtype
    # Nothing at all has no dtype that says anything.
    is_empty = cells.values.size == 0 or (cells.present is not None and not cells.present.any())
    if not is_empty and (found.kind not in "Oiu" or (found.kind == "O") != (dtype.kind == "O")):
        raise _wrong_dtype(key, dtype, found)
    return cells.without_missing()


def _wrong_dtype(key: str, expected: np.dtype, found: object) -> errors.BadArgumentError:
    wanted = {"O": "strings", "f": "floating-point numbers"}.get(expected.kind, "whole numbers")
    return errors.BadArgumentError(
        f"Feature {shown(key)} has another dtype than its column. Expected: {wanted}. Received: {found}. Mend the "
        "column's dtype, or convert the feature in the input_fn."
    )


def _check_weights(column: WeightedCategoricalColumn, ids: Cells, weights: Cells) -> None:
    if ids.values.shape == weights.values.shape and (ids.mask == weights.mask).all():
        return
    # Per example, for the message.
    counts, given = (
        [int(row.sum()) for row in cells.mask[: len(weights.values)]] for cells in (ids, weights)
    )
    first = next((i for i, (one, other) in enumerate(zip(counts, given, strict=False)) if one != other), 0)
    raise errors.BadArgumentError(
        f"Column {shown(column.name)} needs a weight for each value. Expected: weights where the values are. Received: "
        f"values of shape {ids.values.shape} and weights of shape {weights.values.shape}, which differ in example "
        f"{first}. A weight of 0 in a dense feature counts as none, as does an empty string or -1 among the values."
    )
