"""Columns of crosses: ids of combinations of features (feature_column layer)."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import VarLenFeature
from stratax.tensorflow.feature_column._categorical import HashedCategoricalColumn
from stratax.tensorflow.feature_column._cells import Cells
from stratax.tensorflow.feature_column._column import CategoricalColumn, check_categorical
from stratax.tensorflow.feature_column._sources import HostFeatures
from stratax.tensorflow.ops.text.fingerprints import DEFAULT_KEY, Words, fingerprint_cat, hash_buckets


@dataclasses.dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """What :func:`crossed_column` gives."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        # Sorted, as in TensorFlow: the order of keys changes the hashes, but no variable's name.
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self.leaves()))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            # TensorFlow parses a key that is a name as text, also where the feature has numbers.
            spec.update({key: VarLenFeature("string")} if isinstance(key, str) else key.parse_example_spec)
        return spec

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    @property
    def keys_read(self) -> tuple[str, ...]:
        return tuple(
            key for leaf in self.leaves() for key in ((leaf,) if isinstance(leaf, str) else leaf.keys_read)
        )

    @property
    def is_by_row(self) -> bool:
        return all(isinstance(leaf, str) or leaf.is_by_row for leaf in self.leaves())

    def cells(self, features: HostFeatures) -> Cells:
        sparse: list[Cells] = []
        dense: list[Cells] = []
        for leaf in self.leaves():
            if isinstance(leaf, str):
                words = self._words(leaf, features)
                (sparse if words.is_sparse else dense).append(words)
            else:
                cells = leaf.cells(features)
                if cells.weights is not None:
                    raise errors.BadArgumentError(
                        f"crossed_column takes no weights. Received: column {shown(leaf.name)} with weights. Cross "
                        "its categorical_column instead."
                    )
                # TensorFlow crosses what a column gives before what is a dense feature itself, in whatever order the
                # keys are.
                # Ids take part as the words that they are, and are not hashed first; -1 becomes the largest word.
                sparse.append(cells.with_values(cells.values.astype(np.int64).view(np.uint64)))
        first, *others = [*sparse, *dense]
        # Where nothing is sparse the first leaf is a dense feature, whose strings may be known by their codes.
        crossed = functools.reduce(_cross, others, self._begin(first, None if sparse else features))
        # Once, at the end: what is chained are fingerprints of 64 bits, as in TensorFlow's SparseCrossHashed.
        ids = hash_buckets(crossed.values, self.hash_bucket_size)
        return _compact(crossed.with_values(ids))

    def leaves(self) -> Iterator[Any]:
        """Give the names of features and the columns that are crossed, also those of crosses among them."""
        # As `_collect_leaf_level_keys` in TensorFlow: a cross among the keys takes part by what it crosses.
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key.leaves()
            else:
                yield key

    def _begin(self, first: Cells, features: HostFeatures | None) -> Cells:
        """Return the hashes after the first leaf; `features` are given where that is a dense feature."""
        # 0 counts as no key, as in TensorFlow.
        hash_key = np.uint64(self.hash_key or DEFAULT_KEY)
        coded = None if features is None else features.encode_feature(next(self.leaves()))
        if features is None or coded is None:
            return first.with_values(fingerprint_cat(hash_key, first.values))
        words_of = features.words_of
        # Known by the hash key alone: several crosses begin with the same feature.
        return Cells(
            coded.map_strings(
                ("begun", int(hash_key)), lambda strings: fingerprint_cat(hash_key, words_of(strings))
            )
        )

    def _words(self, key: str, features: HostFeatures) -> Cells:
        coded = features.encode_feature(key)
        if coded is not None:
            # One table for all crosses: the word of a string depends on no hash key.
            return Cells(coded.map_strings("words", features.words_of))
        cells = features.raw(key)
        if cells.values.dtype.kind == "O":
            return cells.with_values(features.words(key))
        if cells.values.dtype.kind in "iu":
            # Whole numbers are taken as they are.
            return cells.with_values(cells.values.astype(np.int64).view(np.uint64))
        raise errors.BadArgumentError(
            f"crossed_column takes strings and whole numbers. Received: feature {shown(key)} of {cells.values.dtype}. "
            "Cross a bucketized_column of it."
        )


def crossed_column(keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Return a column of hashes of combinations, as `tf.feature_column.crossed_column`.

    An example that has several values of a feature has each combination.

    Args:
        keys: Names of features of strings or whole numbers, and categorical columns other than hashed ones.
        hash_bucket_size: The number of ids.
        hash_key: What hashes begin with; None for TensorFlow's default.

    Raises:
        BadArgumentError: There are fewer than two keys, one is something else, or the size is not positive.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> pair = fc.crossed_column(["a", "b"], 1000)
        >>> features = {"a": np.array(["x"]), "b": np.array(["y"])}
        >>> fc.Transformation([pair]).host_features(features)["a_X_b/ids"].shape
        (1, 1)
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise errors.BadArgumentError(
            f"hash_bucket_size must be at least 1. Received: hash_bucket_size={shown(hash_bucket_size)}."
        )
    # A single name would be taken for the list of its letters.
    if not keys or isinstance(keys, str) or len(keys) < 2:
        raise errors.BadArgumentError(
            f"keys must be a list of two at least. Received: keys={shown(keys)}. Use "
            "categorical_column_with_hash_bucket for one feature."
        )
    for key in keys:
        if isinstance(key, HashedCategoricalColumn):
            raise errors.BadArgumentError(
                "categorical_column_with_hash_bucket is not supported for crossing: hashing twice makes collisions "
                f"more likely. Received: {shown(key)}. Pass the feature's name, {shown(key.key)}, instead."
            )
        if not isinstance(key, str):
            check_categorical(key, "Each of keys other than a feature's name")
    return CrossedColumn(tuple(keys), int(hash_bucket_size), hash_key)


def _cross(one: Cells, other: Cells) -> Cells:
    """Return the cells of all pairs in each row, the last varying fastest."""
    first, second = one.values[:, :, None], other.values[:, None, :]
    # Of shape (batch, width of one, width of the other), before it is made flat.
    words: Words = fingerprint_cat(first, second)
    shape = (len(words), words.shape[1] * words.shape[2])
    present = None
    if one.present is not None or other.present is not None:
        present = (one.mask[:, :, None] & other.mask[:, None, :]).reshape(shape)
    return Cells(words.reshape(shape), present, is_sparse=one.is_sparse or other.is_sparse)


def _compact(cells: Cells) -> Cells:
    """Return cells whose values stand one after another from the beginning of each row."""
    if cells.present is None or cells.present.all():
        return cells
    # Absent cells last; stable, since the order of values is that of TensorFlow's SparseTensor.
    order = np.argsort(~cells.present, axis=1, kind="stable")
    width = max(1, int(cells.present.sum(axis=1).max(initial=0)))
    order = order[:, :width]
    return dataclasses.replace(
        cells,
        values=np.take_along_axis(cells.values, order, 1),
        present=np.take_along_axis(cells.present, order, 1),
        is_sparse=True,
    )
