"""Features that are made of others: `RaggedFeature` and `SparseFeature` (data layer)."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import SparseTensor
from stratax.data.examples import _partitions
from stratax.data.examples._features import VarLenFeature
from stratax.errors import BadArgumentError, DataError


@dataclasses.dataclass(frozen=True)
class RaggedFeature:
    """A feature with any number of values, as `tf.io.RaggedFeature`; it is parsed to rows, of one Example to an array.

    Args:
        dtype: int64, float32 or string.
        value_key: The feature in the Example; the key of this one if None.
        partitions: How the values of an Example are divided into rows, outermost first: a list of
            `RaggedFeature.RowSplits(key)`, `RowLengths(key)`, `RowStarts(key)`, `RowLimits(key)`, `ValueRowIds(key)`,
            which name a feature of int64, and `UniformRowLength(length)`.
        row_splits_dtype: Of where rows begin.
        validate: Ignored: partitions are always checked.

    Raises:
        BadArgumentError: The partitions are something else.

    Example:
        >>> import numpy as np
        >>> from stratax.data import RaggedFeature
        >>> RaggedFeature(np.int64, "values", [RaggedFeature.RowLengths("lengths")]).partitions
        [RowLengths(key='lengths')]
    """

    RowSplits = _partitions.RowSplits
    RowLengths = _partitions.RowLengths
    RowStarts = _partitions.RowStarts
    RowLimits = _partitions.RowLimits
    ValueRowIds = _partitions.ValueRowIds
    UniformRowLength = _partitions.UniformRowLength

    dtype: Any
    value_key: str | None = None
    partitions: Sequence[Any] = ()
    row_splits_dtype: Any = np.int32
    validate: bool = False

    def __post_init__(self) -> None:
        _partitions.check_partitions(self.partitions)

    def plain(self, key: str) -> dict[str, VarLenFeature]:
        """Return the features of an Example that it is made of."""
        keys = [part.key for part in self.partitions if hasattr(part, "key")]
        return {self.value_key or key: VarLenFeature(self.dtype)} | dict.fromkeys(
            keys, VarLenFeature(np.int64)
        )

    def made(self, key: str, parsed: Mapping[str, Any]) -> Any:
        """Return the result, of what those were parsed to."""
        found = parsed[self.value_key or key]
        is_single = len(found.dense_shape) == 1
        values, counts = self.divided(
            key, {name: _flat(part) for name, part in parsed.items() if _is_sparse(part)}
        )
        return values if is_single else _partitions.in_rows(values, counts, self.row_splits_dtype)

    def divided(
        self, key: str, parsed: Mapping[str, tuple[np.ndarray, np.ndarray]]
    ) -> tuple[Any, np.ndarray]:
        """Return the values in rows as the partitions say, and how many of these each Example has.

        Args:
            key: The feature's name.
            parsed: By name, the values of features with how many each Example has.

        Raises:
            DataError: A partition does not fit the values.
        """
        values, counts = parsed[self.value_key or key]
        parts = []
        for part in self.partitions:
            numbers = _pieces(*parsed[part.key]) if hasattr(part, "key") else [counts[:0]] * len(counts)
            parts.append((part, numbers))
        return _partitions.divide(key, values, counts, parts, self.row_splits_dtype)


def _is_sparse(part: object) -> bool:
    return isinstance(part, SparseTensor)


def _flat(found: SparseTensor) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a feature, and how many each Example has."""
    if len(found.dense_shape) == 1:
        return found.values, np.array([len(found.values)])
    return found.values, np.bincount(found.indices[:, 0], minlength=int(found.dense_shape[0]))


def _pieces(values: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    return np.split(values, np.cumsum(counts)[:-1]) if len(counts) else []


@dataclasses.dataclass(frozen=True)
class SparseFeature:
    """Values and their indices in two or more features, as `tf.io.SparseFeature`; parsed to a `SparseTensor`.

    Args:
        index_key: The feature with the indices; a list of one for each dimension.
        value_key: The feature with the values.
        dtype: The values' dtype: int64, float32 or string.
        size: The dense size; a list of one for each dimension.
        already_sorted: Whether indices are in ascending order already.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

    def _keys(self) -> list[str]:
        return [self.index_key] if isinstance(self.index_key, str) else list(self.index_key)

    def plain(self, key: str) -> dict[str, VarLenFeature]:
        """Return the features of an Example that it is made of."""
        return {self.value_key: VarLenFeature(self.dtype)} | {
            name: VarLenFeature(np.int64) for name in self._keys()
        }

    def made(self, key: str, parsed: Mapping[str, Any]) -> SparseTensor:
        """Return the SparseTensor, of what those were parsed to.

        Raises:
            DataError: There are not as many indices as values, or one is out of range.
        """
        values = parsed[self.value_key]
        columns = [parsed[name] for name in self._keys()]
        sizes = np.atleast_1d(np.asarray(self.size, np.int64))
        if any(not np.array_equal(each.indices, values.indices) for each in columns):
            raise DataError(
                f"A SparseFeature has an index for each value. Received: features {shown(self._keys())} and "
                f"{shown(self.value_key)} with different numbers of values for {shown(key)}."
            )
        found = np.stack([each.values for each in columns], axis=1).reshape(-1, len(sizes))
        if ((found < 0) | (found >= sizes)).any():
            raise DataError(
                f"The indices of a SparseFeature are within its size. Expected: below {sizes.tolist()} for "
                f"{shown(key)}. Received: {shown(found)}."
            )
        rows = values.indices[:, :-1]
        indices = np.concatenate([rows, found], axis=1).astype(np.int64)
        shape = np.concatenate([np.asarray(values.dense_shape)[:-1], sizes]).astype(np.int64)
        order = slice(None) if self.already_sorted else np.lexsort(indices.T[::-1])
        return SparseTensor(indices[order], values.values[order], shape)


def compose(features: object) -> tuple[dict[str, Any], Callable[[Mapping[str, Any]], dict[str, Any]]] | None:
    """Return the features of which others are made, and what makes these; None if there are no such.

    Raises:
        BadArgumentError: Two of them want one feature of an Example in different forms.
    """
    kinds = (RaggedFeature, SparseFeature)
    if not isinstance(features, Mapping) or not any(isinstance(each, kinds) for each in features.values()):
        return None
    plain: dict[str, Any] = {key: each for key, each in features.items() if not isinstance(each, kinds)}
    for key, feature in features.items():
        for name, part in feature.plain(key).items() if isinstance(feature, kinds) else ():
            known = plain.setdefault(name, part)
            if not isinstance(known, VarLenFeature) or known.kind is not part.kind:
                raise BadArgumentError(
                    f"One feature of an Example is parsed in one form. Received: {shown(name)} as {shown(known)} and "
                    f"for features[{shown(key)}]={shown(feature)}. Rename one of them in the records."
                )

    def make(parsed: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: feature.made(key, parsed) if isinstance(feature, kinds) else parsed[key]
            for key, feature in features.items()
        }

    return plain, make
