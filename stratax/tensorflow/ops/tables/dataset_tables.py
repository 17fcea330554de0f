"""Tables of what a Dataset gives, as those of `tf.data.experimental` (ops layer)."""

from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import TensorSpec
from stratax.tensorflow.ops.tables.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
)


class DatasetInitializer(KeyValueTensorInitializer):
    """The keys and values that a Dataset gives, as `tf.data.experimental.DatasetInitializer`; it is read at once.

    Args:
        dataset: Its elements are pairs of a key and a value, both scalars.

    Raises:
        BadArgumentError: A key has two values.
        BadTypeError: The elements are something else.

    Example:
        >>> import stratax.tf as tf
        >>> squares = tf.data.Dataset.range(4).map(lambda x: (x, x * x))
        >>> table = tf.lookup.StaticHashTable(tf.data.experimental.DatasetInitializer(squares), -1)
        >>> table.lookup(tf.constant([3, 7], tf.int64)).tolist()
        [9, -1]
    """

    def __init__(self, dataset: Any) -> None:
        key, value = _pair_of(dataset)
        pairs = [(np.asarray(each[0]).item(), np.asarray(each[1]).item()) for each in dataset]
        super().__init__([each for each, _ in pairs], [each for _, each in pairs], key.dtype, value.dtype)


def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: TensorLike | None = None,
    hasher_spec: object = None,
    key_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    """Make a table of the pairs that a Dataset gives, as `tf.data.experimental.table_from_dataset`.

    Args:
        dataset: Its elements are pairs of a key and a value, both scalars.
        num_oov_buckets: How many ids, behind those of the table, stand for keys that it does not have.
        vocab_size: How many elements are read, and have to be there; None for all.
        default_value: What other keys have; -1 for numbers.
        hasher_spec: Ignored: as TensorFlow's default.
        key_dtype: The keys' dtype; that of the Dataset.
        name: Ignored.

    Raises:
        BadArgumentError: A number does not fit, values that are no numbers have no default, or the Dataset has fewer
            elements than `vocab_size`.
        BadTypeError: The elements are no pairs of scalars.
    """
    _, value = _pair_of(dataset)
    if num_oov_buckets < 0 or (num_oov_buckets and value.dtype.kind not in "iu"):
        raise errors.BadArgumentError(
            "num_oov_buckets must not be negative, and 0 where values are no whole numbers. Received: "
            f"num_oov_buckets={shown(num_oov_buckets)}, values of dtype {value.dtype}."
        )
    if default_value is None:
        if value.dtype.kind not in "iuf":
            raise errors.BadArgumentError(
                "default_value must be given for a table whose values are no numbers. Received: values of dtype "
                f"{value.dtype}. Pass what other keys have."
            )
        # TensorFlow's default of numbers.
        default_value = -1
    if vocab_size is not None:
        # Fewer elements than `vocab_size` are an error, as in TensorFlow.
        dataset = dataset.take(vocab_size).assert_cardinality(vocab_size)
    initializer = DatasetInitializer(dataset)
    if num_oov_buckets:
        return StaticVocabularyTable(initializer, num_oov_buckets)
    return StaticHashTable(initializer, default_value)


def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: object = None,
    key_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    """Make a table from what a Dataset gives to its place in it, as `tf.data.experimental.index_table_from_dataset`.

    Args:
        dataset: Its elements are the keys, scalars.
        num_oov_buckets: As of :func:`table_from_dataset`.
        vocab_size: As of :func:`table_from_dataset`.
        default_value: What other keys have.
        hasher_spec: Ignored.
        key_dtype: The keys' dtype; that of the Dataset.
        name: Ignored.
    """
    numbered = dataset.enumerate().map(lambda number, key: (key, number))
    return table_from_dataset(numbered, num_oov_buckets, vocab_size, default_value)


def _pair_of(dataset: object) -> tuple[TensorSpec, TensorSpec]:
    """Return the specs of a key and of a value."""
    spec: Any = getattr(dataset, "element_spec", None)
    is_pair = isinstance(spec, tuple) and len(spec) == 2
    if not is_pair or any(not isinstance(each, TensorSpec) or each.shape != () for each in spec):
        raise errors.BadTypeError(
            "A table is made of a Dataset whose elements are pairs of a key and a value, both scalars. Received: "
            f"dataset={shown(dataset)}. Use dataset.map, or batch and unbatch."
        )
    return spec[0], spec[1]
