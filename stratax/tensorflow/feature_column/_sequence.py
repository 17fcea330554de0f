"""Columns of sequences: the cells of a row are its steps (feature_column layer)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data import VarLenFeature
from stratax.tensorflow.feature_column._categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from stratax.tensorflow.feature_column._cells import Cells, pad_rows, round_width
from stratax.tensorflow.feature_column._column import CategoricalColumn, HostColumn, SequenceDenseColumn
from stratax.tensorflow.feature_column._numeric import numeric_column
from stratax.tensorflow.feature_column._sources import DeviceFeatures, HostFeatures, Weights, num_elements
from stratax.tensorflow.ops.calls.dtypes import string


@dataclasses.dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """What the functions `sequence_categorical_column_with_*` give."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    @property
    def keys_read(self) -> tuple[str, ...]:
        return self.categorical_column.keys_read

    @property
    def is_sequence(self) -> bool:
        return True

    def cells(self, features: HostFeatures) -> Cells:
        return self.categorical_column.cells(features)


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = string
) -> SequenceCategoricalColumn:
    """Return a column of sequences of hashes, as TensorFlow's of that name.

    Args:
        key: As in :func:`categorical_column_with_hash_bucket`, as the others.
        hash_bucket_size: See there.
        dtype: See there.
    """
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Return a column of sequences of whole numbers, as TensorFlow's of that name.

    Args:
        key: As in :func:`categorical_column_with_identity`, as the others.
        num_buckets: See there.
        default_value: See there.
    """
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Return a column of sequences of places in a list, as TensorFlow's of that name.

    Args:
        key: As in :func:`categorical_column_with_vocabulary_list`, as the others.
        vocabulary_list: See there.
        dtype: See there.
        default_value: See there.
        num_oov_buckets: See there.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> SequenceCategoricalColumn:
    """Return a column of sequences of places in a file, as TensorFlow's of that name.

    Args:
        key: As in :func:`categorical_column_with_vocabulary_file`, as the others.
        vocabulary_file: See there.
        vocabulary_size: See there.
        num_oov_buckets: See there.
        default_value: See there.
        dtype: See there.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
        )
    )


@dataclasses.dataclass(frozen=True)
class SequenceNumericColumn(HostColumn, SequenceDenseColumn):
    """What :func:`sequence_numeric_column` gives."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: np.dtype
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature("float32" if self.dtype.kind == "f" else "int64")}

    @property
    def host_columns(self) -> tuple[HostColumn, ...]:
        return (self,)

    @property
    def keys_read(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def parts(self) -> tuple[str, ...]:
        return ("values", "lengths")

    @property
    def fills(self) -> dict[str, float]:
        return {"values": self.default_value}

    @property
    def step_size(self) -> int:
        return num_elements(self.shape)

    def arrays(self, features: HostFeatures) -> dict[str, np.ndarray]:
        cells = features.raw(self.key)
        if cells.values.dtype.kind not in "iuf":
            raise errors.BadArgumentError(
                f"Column {shown(self.key)} is a sequence of numbers. Received: {cells.values.dtype}. Use a "
                "sequence_categorical_column_with_* for strings."
            )
        # Of padding, too: the next line replaces what it became.
        values = cells.values if self.normalizer_fn is None else np.asarray(self.normalizer_fn(cells.values))
        values = np.where(cells.mask, values, self.default_value).astype(np.float32)
        # Rounded up: the last step may not be full.
        steps = -(-values.shape[1] // self.step_size)
        return {
            # Whole steps, in numbers that come again: each new width compiles a program.
            "values": pad_rows(values, round_width(steps) * self.step_size, self.default_value),
            "lengths": -(-cells.lengths // self.step_size),
        }

    def steps(self, features: DeviceFeatures, weights: Weights) -> tuple[Any, Any]:
        del weights
        values = features.part(self, "values")
        shape = (-1, values.shape[1] // self.step_size, self.step_size)
        return values.reshape(shape), features.part(self, "lengths")


def sequence_numeric_column(
    key: str,
    shape: object = (1,),
    default_value: float = 0.0,
    dtype: DTypeLike = "float32",
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Return a column of sequences of numbers, as `tf.feature_column.sequence_numeric_column`.

    Args:
        key: The feature's name: a SparseTensor, or rows of different lengths.
        shape: The shape of one step's values.
        default_value: What stands behind a sequence's end.
        dtype: The dtype that the feature is parsed to.
        normalizer_fn: Called with the feature's values, as a NumPy array.

    Raises:
        BadArgumentError: As in :func:`numeric_column`, or the default is no number.
    """
    # For its checks of key, shape, dtype and function.
    plain = numeric_column(key, shape, None, dtype, normalizer_fn)
    if not isinstance(default_value, int | float):
        raise errors.BadArgumentError(
            f"default_value must be a number. Received: default_value={shown(default_value)}, key={shown(key)}."
        )
    return SequenceNumericColumn(key, plain.shape, float(default_value), plain.dtype, normalizer_fn)
