"""Columns of sequences: the cells of a row are its steps (feature_column layer)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from stratax._typing import DTypeLike
from stratax.feature_column._categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from stratax.feature_column._cells import Cells
from stratax.feature_column._column import CategoricalColumn
from stratax.feature_column._sources import HostFeatures
from stratax.ops.dtypes import string


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
