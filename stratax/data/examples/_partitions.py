"""How values of a feature are divided into rows: the partitions of a `RaggedFeature` (data layer)."""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import RaggedTensor, as_dtype, splits_of_lengths
from stratax.errors import BadArgumentError, DataError


class Partition(abc.ABC):
    """One dimension of rows; the kinds of it are in this file."""

    @abc.abstractmethod
    def lengths(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return the lengths of the rows that `count` values are divided into.

        Args:
            numbers: What the Example's feature of the partition holds; empty for one without a feature.
            count: How many values there are.
        """


@dataclasses.dataclass(frozen=True)
class _Keyed(Partition):
    key: str


class RowSplits(_Keyed):
    """Where each row begins, and behind them where the last one ends, as `tf.io.RaggedFeature.RowSplits`."""

    def lengths(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return the distances of the splits."""
        return np.diff(numbers)


class RowLengths(_Keyed):
    """How long each row is, as `tf.io.RaggedFeature.RowLengths`."""

    def lengths(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return what the feature holds."""
        return numbers


class RowStarts(_Keyed):
    """Where each row begins, as `tf.io.RaggedFeature.RowStarts`."""

    def lengths(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return the distances of the beginnings; the last row ends with the values."""
        return np.diff(numbers, append=count) if len(numbers) else numbers


class RowLimits(_Keyed):
    """Where each row ends, as `tf.io.RaggedFeature.RowLimits`."""

    def lengths(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return the distances of the ends; the first row begins with the values."""
        return np.diff(numbers, prepend=0)


class ValueRowIds(_Keyed):
    """The number of each value's row, as `tf.io.RaggedFeature.ValueRowIds`."""

    def lengths(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return how often each number occurs, which are in ascending order."""
        if len(numbers) != count or (np.diff(numbers, prepend=0) < 0).any():
            return np.array([-1])
        return np.bincount(numbers) if len(numbers) else numbers


@dataclasses.dataclass(frozen=True)
class UniformRowLength(Partition):
    """Rows of one length, as `tf.io.RaggedFeature.UniformRowLength`."""

    length: int

    def lengths(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return the length for each row."""
        return np.full(count // self.length, self.length)


def check_partitions(partitions: object) -> None:
    """Raise unless something is a sequence of partitions.

    Raises:
        BadArgumentError: It is none.
    """
    if not isinstance(partitions, list | tuple) or not all(
        isinstance(each, Partition) for each in partitions
    ):
        raise BadArgumentError(
            "The partitions of a RaggedFeature are a list of tf.io.RaggedFeature.RowSplits, RowLengths, RowStarts, "
            f"RowLimits, ValueRowIds or UniformRowLength. Received: partitions={shown(partitions)}."
        )


def divide(
    name: str,
    values: np.ndarray,
    counts: np.ndarray,
    partitions: Sequence[tuple[Partition, Sequence[np.ndarray]]],
    dtype: Any,
) -> tuple[Any, np.ndarray]:
    """Return values in rows, and how many of the outermost rows belong to each Example.

    Args:
        name: The feature's name, for messages.
        values: The values of all Examples, one after another.
        counts: How many belong to each Example.
        partitions: Outermost first: each with what its feature holds in each Example.
        dtype: Of where rows begin.

    Raises:
        DataError: A partition does not fit the values.
    """
    is_dense = True
    for partition, numbers in reversed(partitions):
        lengths = []
        for index, count in enumerate(counts.tolist()):
            found = partition.lengths(numbers[index], count)
            if (found < 0).any() or found.sum() != count:
                raise DataError(
                    f"A partition of a RaggedFeature does not fit its values. Expected: {partition} that divides "
                    f"{count} values of {shown(name)}. Received: {shown(numbers[index].tolist())} in Example {index}."
                )
            lengths.append(found)
        counts = np.array([len(each) for each in lengths], np.int64)
        is_dense = is_dense and isinstance(partition, UniformRowLength)
        if is_dense:
            # Innermost rows of one length are a dimension of the array.
            values = values.reshape(-1, partition.length, *values.shape[1:])  # type: ignore[attr-defined]
            continue
        joined = np.concatenate([*lengths, np.zeros(0, np.int64)]).astype(as_dtype(dtype))
        uniform = partition.length if isinstance(partition, UniformRowLength) else None
        values = RaggedTensor(values, splits_of_lengths(joined), uniform)  # type: ignore[assignment]
    return values, counts


def in_rows(values: Any, lengths: np.ndarray, dtype: Any) -> RaggedTensor:
    """Return values as rows of some lengths."""
    return RaggedTensor(values, splits_of_lengths(lengths.astype(as_dtype(dtype))))
