"""The host's half of columns while a model is exported: functions of `tf`, by name (feature_column layer).

What a column computes of features on the host is NumPy's; an export holds no Python. So here the same ids are made by
functions that both an export and TensorFlow have.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import SparseTensor, sparse_to_dense
from stratax.tensorflow.exports.recording import RecordedValue, current_recorder
from stratax.tensorflow.feature_column._categorical import (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
    WeightedCategoricalColumn,
)
from stratax.tensorflow.feature_column._column import HostColumn
from stratax.tensorflow.feature_column._crossed import CrossedColumn
from stratax.tensorflow.feature_column._numeric import BucketizedColumn
from stratax.tensorflow.ops.arrays import arrays, indexing, ordering, sparse
from stratax.tensorflow.ops.calls import creation
from stratax.tensorflow.ops.math import elementwise
from stratax.tensorflow.ops.tables.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
)
from stratax.tensorflow.ops.text import strings

_ABSENT = -1
_KINDS = (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
)


def export_arrays(column: HostColumn, features: dict[str, Any]) -> dict[str, Any]:
    """Return what a column computes on the host, as arrays of the program that is exported, by part.

    Args:
        column: The column.
        features: The features that it reads, by key.

    Raises:
        BadTypeError: It is of a kind that exports do not have.
    """
    if isinstance(column, WeightedCategoricalColumn):
        made = export_arrays(column.categorical_column, features)
        # A cell without a weight counts nothing.
        weights, present = _cells(features[column.weight_feature_key], 0)
        given = arrays.cast(weights, "float32")
        if present is not None:
            given = _argument(arrays.where(present, given, 0.0), 0.0)
        return {**made, "weights": _as_wide(given, made["ids"])}
    if isinstance(column, CrossedColumn):
        # Else numbers and text of one cross would end on two sides.
        with current_recorder().staying_on_host():
            inputs = [_crossing(leaf, features) for leaf in column.leaves()]
            crossed = sparse.cross_hashed(inputs, column.hash_bucket_size, column.hash_key)
            ids = sparse_to_dense(crossed, default_value=_ABSENT)
        return {"ids": _argument(ids, _ABSENT)}
    if not isinstance(column, _KINDS):
        # Only columns of sequences are left, which give lengths, too.
        raise _not_exported(column)
    missing = _missing(column)
    values, present = _cells(features[column.key], missing)
    if present is None:
        present = elementwise.not_equal(values, missing)
    return {"ids": _argument(arrays.where(present, _ids(column, values), _ABSENT), _ABSENT)}


def _as_wide(weights: Any, ids: Any) -> Any:
    """Return weights for as many cells as there are ids: a program does not know that two unknown widths are equal."""
    if weights.shape[1] == ids.shape[1] or not isinstance(weights, jax.Array):
        return weights
    return jnp.take(weights, jnp.arange(ids.shape[1]), axis=1, mode="fill", fill_value=0)


def _not_exported(column: object) -> errors.BadTypeError:
    return errors.BadTypeError(
        "This feature column computes on the host what an export can't. Expected: columns of a vocabulary, of "
        f"hashes, of ids or of crosses, with or without weights. Received: {shown(column)}. Compute its ids in the "
        "serving input function, and use an identity column of them."
    )


def _crossing(leaf: object, features: dict[str, Any]) -> Any:
    """Return what is crossed of a feature, or of a column: SparseTensors, or rows."""
    if isinstance(leaf, str):
        feature = features[leaf]
        # As TensorFlow has it, what is dense counts as a whole, empty text too.
        return feature if isinstance(feature, SparseTensor) else _rows(feature)
    if isinstance(leaf, BucketizedColumn):
        return _sparse(_buckets(leaf, features[leaf.source_column.key]), _ABSENT)
    if not isinstance(leaf, _KINDS):
        raise _not_exported(leaf)
    feature = features[leaf.key]
    if not isinstance(feature, SparseTensor):
        rows = _rows(feature)
        feature = _sparse(rows, _missing(leaf))
    # The same places with ids in place of values.
    return SparseTensor.of_parts((feature.indices, _ids(leaf, feature.values), feature.dense_shape))


def _rows(feature: Any) -> Any:
    # Sizes that are not known count as 1: -1 is taken by the batch.
    return arrays.reshape(feature, [-1, math.prod(size or 1 for size in feature.shape[1:])])


def _buckets(column: BucketizedColumn, feature: object) -> Any:
    if column.source_column.normalizer_fn is not None:
        raise _not_exported(column)
    rows = _rows(arrays.cast(feature, "float32"))
    limits = np.asarray(column.boundaries, np.float32)
    # "right": a number that equals a boundary is in the bucket above it.
    found = ordering.searchsorted(limits, arrays.reshape(rows, [-1]), "right")
    width = math.prod(column.source_column.shape)
    # As `BucketizedColumn.cells` makes ids: each place in the feature has buckets of its own.
    offsets = np.arange(width, dtype=np.int64) * (len(limits) + 1)
    return elementwise.add(arrays.cast(arrays.reshape(found, [-1, width]), "int64"), offsets)


def _sparse(rows: object, missing: object) -> SparseTensor:
    """Return rows as a SparseTensor without what means nothing."""
    # Shape (values, 2): rows and columns.
    places = arrays.where(elementwise.not_equal(rows, missing))
    return SparseTensor(places, indexing.gather_nd(rows, places), arrays.cast(arrays.shape(rows), "int64"))


def _missing(column: Any) -> Any:
    is_text = not isinstance(column, IdentityCategoricalColumn) and np.dtype(column.dtype).hasobject
    return b"" if is_text else _ABSENT


def _ids(column: Any, values: Any) -> Any:
    if isinstance(column, HashedCategoricalColumn):
        return _hash(column, values)
    return (
        _identical(column, values)
        if isinstance(column, IdentityCategoricalColumn)
        else _look_up(column, values)
    )


def _cells(feature: object, missing: object) -> tuple[Any, Any]:
    """Return a feature as rows of cells, and which cells have a value; None for all that are not `missing`."""
    if not isinstance(feature, SparseTensor):
        return _rows(feature), None
    values = sparse_to_dense(feature, default_value=missing)
    # A value may equal what means "missing", so a second matrix says where there is one.
    ones = SparseTensor.of_parts(
        (feature.indices, creation.ones_like(feature.indices[:, 0]), feature.dense_shape)
    )
    present = elementwise.not_equal(sparse_to_dense(ones, default_value=0), 0)
    return values, present


def _hash(column: HashedCategoricalColumn, values: Any) -> Any:
    # Whole numbers are hashed as decimal text, as in TensorFlow.
    texts = values if np.dtype(values.dtype).hasobject else strings.as_string(values)
    return strings.to_hash_bucket_fast(texts, column.hash_bucket_size)


def _look_up(
    column: VocabularyListCategoricalColumn | VocabularyFileCategoricalColumn, values: object
) -> Any:
    # The export holds the vocabulary itself, and needs no file.
    entries = np.array(column.entries, np.dtype(column.dtype))
    given = KeyValueTensorInitializer(entries, np.arange(len(entries)), value_dtype=np.int64)
    if column.num_oov_buckets:
        # It hashes unknown entries by `Fingerprint64`, as `Vocabulary.lookup` does.
        return StaticVocabularyTable(given, column.num_oov_buckets).lookup(values)
    return StaticHashTable(given, column.default_value).lookup(values)


def _identical(column: IdentityCategoricalColumn, values: object) -> Any:
    ids = arrays.cast(values, "int64")
    if column.default_value is None:
        return ids
    is_known = elementwise.logical_and(
        elementwise.greater_equal(ids, 0), elementwise.less(ids, column.number_buckets)
    )
    return arrays.where(is_known, ids, np.int64(column.default_value))


def _argument(cells: object, fill: float) -> Any:
    """Return rows of cells as an array of the program; a row has one at least, as no size of a program's is 0."""
    if not isinstance(cells, RecordedValue):
        return cells
    return current_recorder().argument(arrays.pad(cells, [[0, 0], [0, 1]], constant_values=fill))
