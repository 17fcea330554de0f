"""The host's half of columns while a model is exported: functions of `tf`, by name (feature_column layer).

What a column computes of features on the host is NumPy's; an export holds no Python. So here the same ids are made by
functions that both an export and TensorFlow have.
"""

import math
from typing import Any

import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.data import SparseTensor, sparse_to_dense
from stratax.export.recording import HostValue, current_recorder
from stratax.feature_column._categorical import (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
    WeightedCategoricalColumn,
)
from stratax.feature_column._column import HostColumn
from stratax.ops import arrays, creation, elementwise, strings
from stratax.ops.lookup import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable

_ABSENT = -1
_KINDS = (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
)


def exported_arrays(column: HostColumn, features: dict[str, Any]) -> dict[str, Any]:
    """Return what a column computes on the host, as arrays of the program that is exported, by part.

    Args:
        column: The column.
        features: The features that it reads, by key.

    Raises:
        BadTypeError: It is of a kind that exports do not have.
    """
    if isinstance(column, WeightedCategoricalColumn):
        made = exported_arrays(column.categorical_column, features)
        weights, present = _cells(features[column.weight_feature_key], 0)
        given = arrays.cast(weights, "float32")
        return {
            **made,
            "weights": given if present is None else _argument(arrays.where(present, given, 0.0), 0.0),
        }
    if not isinstance(column, _KINDS):
        raise errors.BadTypeError(
            "This feature column computes on the host what an export can't. Expected: columns of a vocabulary, of "
            f"hashes or of ids, with or without weights. Received: {shown(column)}. Compute its ids in the serving "
            "input function, and use an identity column of them."
        )
    is_text = not isinstance(column, IdentityCategoricalColumn) and np.dtype(column.dtype).hasobject
    missing: Any = b"" if is_text else _ABSENT
    values, present = _cells(features[column.key], missing)
    if present is None:
        present = elementwise.not_equal(values, missing)
    return {"ids": _argument(arrays.where(present, _ids(column, values), _ABSENT), _ABSENT)}


def _ids(column: Any, values: Any) -> Any:
    if isinstance(column, HashedCategoricalColumn):
        return _hashed(column, values)
    return (
        _identical(column, values)
        if isinstance(column, IdentityCategoricalColumn)
        else _looked_up(column, values)
    )


def _cells(feature: Any, missing: Any) -> tuple[Any, Any]:
    """Return a feature as rows of cells, and which cells have a value; None for all that are not `missing`."""
    if not isinstance(feature, SparseTensor):
        return arrays.reshape(feature, [-1, math.prod(size or 1 for size in feature.shape[1:])]), None
    values = sparse_to_dense(feature, default_value=missing)
    ones = SparseTensor._make(
        (feature.indices, creation.ones_like(feature.indices[:, 0]), feature.dense_shape)
    )
    present = elementwise.not_equal(sparse_to_dense(ones, default_value=0), 0)
    return values, present


def _hashed(column: HashedCategoricalColumn, values: Any) -> Any:
    texts = values if np.dtype(values.dtype).hasobject else strings.as_string(values)
    return strings.to_hash_bucket_fast(texts, column.hash_bucket_size)


def _looked_up(column: VocabularyListCategoricalColumn | VocabularyFileCategoricalColumn, values: Any) -> Any:
    entries = np.array(column.entries, np.dtype(column.dtype))
    given = KeyValueTensorInitializer(entries, np.arange(len(entries)), value_dtype=np.int64)
    if column.num_oov_buckets:
        return StaticVocabularyTable(given, column.num_oov_buckets).lookup(values)
    return StaticHashTable(given, column.default_value).lookup(values)


def _identical(column: IdentityCategoricalColumn, values: Any) -> Any:
    ids = arrays.cast(values, "int64")
    if column.default_value is None:
        return ids
    is_known = elementwise.logical_and(
        elementwise.greater_equal(ids, 0), elementwise.less(ids, column.number_buckets)
    )
    return arrays.where(is_known, ids, np.int64(column.default_value))


def _argument(cells: Any, fill: float) -> Any:
    """Return rows of cells as an array of the program; a row has one at least, as no size of a program's is 0."""
    if not isinstance(cells, HostValue):
        return cells
    return current_recorder().argument(arrays.pad(cells, [[0, 0], [0, 1]], constant_values=fill))
