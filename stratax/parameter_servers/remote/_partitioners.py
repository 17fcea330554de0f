"""Partitioners: into how many shards a variable is divided, by rows (distribute layer).

Follows `tf.distribute.experimental.partitioners`.
"""

import abc
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadArgumentError


class Partitioner(abc.ABC):
    """Says into how many shards a variable is divided.

    Follows `tf.distribute.experimental.partitioners.Partitioner`. Subclasses implement `__call__`.
    """

    @abc.abstractmethod
    def __call__(self, shape: Sequence[int], dtype: object, axis: int = 0) -> list[int]:
        """Return the number of parts along each dimension; a strategy divides along the first one.

        Args:
            shape: The variable's shape.
            dtype: Its dtype.
            axis: The dimension to divide.
        """


class FixedShardsPartitioner(Partitioner):
    """Divides every variable into so many shards.

    Follows `tf.distribute.experimental.partitioners.FixedShardsPartitioner`.

    Args:
        num_shards: How many; a variable with fewer rows has as many shards as rows.

    Raises:
        BadArgumentError: If `num_shards` is below 1.

    Example:
        >>> FixedShardsPartitioner(num_shards=2)((10, 3), "float32")
        [2, 1]
    """

    def __init__(self, num_shards: int) -> None:
        self._num_shards = _positive("num_shards", num_shards)

    def __call__(self, shape: Sequence[int], dtype: object, axis: int = 0) -> list[int]:
        return _along(shape, axis, min(self._num_shards, int(shape[axis])))


class MinSizePartitioner(Partitioner):
    """Divides variables into as many shards as possible that have a least size.

    Follows `tf.distribute.experimental.partitioners.MinSizePartitioner`.

    Args:
        min_shard_bytes: The least size of a shard.
        max_shards: How many shards there are at most.
        bytes_per_string: Accepted for TensorFlow's signature: variables on servers hold numbers.

    Raises:
        BadArgumentError: If an argument is below 1.

    Example:
        >>> MinSizePartitioner(min_shard_bytes=4, max_shards=10)((6, 1), "float32")
        [6, 1]
    """

    def __init__(
        self, min_shard_bytes: int = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16
    ) -> None:
        self._min_shard_bytes = _positive("min_shard_bytes", min_shard_bytes)
        self._max_shards = _positive("max_shards", max_shards)
        _positive("bytes_per_string", bytes_per_string)

    def __call__(self, shape: Sequence[int], dtype: object, axis: int = 0) -> list[int]:
        count = math.ceil(_num_bytes(shape, dtype) / self._min_shard_bytes)
        return _along(shape, axis, max(1, min(int(shape[axis]), self._max_shards, count)))


class MaxSizePartitioner(Partitioner):
    """Divides variables into as few shards as possible that have at most a size.

    Follows `tf.distribute.experimental.partitioners.MaxSizePartitioner`.

    Args:
        max_shard_bytes: The largest size of a shard; one row may be larger.
        max_shards: How many shards there are at most, whatever their size; None for any number.
        bytes_per_string: Accepted for TensorFlow's signature: variables on servers hold numbers.

    Raises:
        BadArgumentError: If an argument is below 1.

    Example:
        >>> MaxSizePartitioner(max_shard_bytes=4, max_shards=2)((6, 1), "float32")
        [2, 1]
    """

    def __init__(
        self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16
    ) -> None:
        self._max_shard_bytes = _positive("max_shard_bytes", max_shard_bytes)
        self._max_shards = None if max_shards is None else _positive("max_shards", max_shards)
        _positive("bytes_per_string", bytes_per_string)

    def __call__(self, shape: Sequence[int], dtype: object, axis: int = 0) -> list[int]:
        num_rows = int(shape[axis])
        if not num_rows:
            return _along(shape, axis, 1)
        row_bytes = _num_bytes(shape, dtype) / num_rows
        rows = max(1, math.floor(self._max_shard_bytes / row_bytes)) if row_bytes else num_rows
        count = math.ceil(num_rows / rows)
        return _along(shape, axis, count if self._max_shards is None else min(self._max_shards, count))


def num_shards_of(partitioner: Any, shape: Sequence[int], dtype: Any) -> int:
    """Return into how many shards a variable is divided, by rows.

    Args:
        partitioner: A :class:`Partitioner`, or a function `(shape, dtype)` like one.
        shape: The variable's shape.
        dtype: Its dtype.

    Raises:
        BadArgumentError: If the partitioner divides it otherwise than by rows.
    """
    if not shape or not shape[0]:
        return 1
    parts = [
        int(count) for count in partitioner(tuple(shape), np.dtype(jax.dtypes.canonicalize_dtype(dtype)))
    ]
    if len(parts) != len(shape) or any(count != 1 for count in parts[1:]) or not 1 <= parts[0] <= shape[0]:
        raise BadArgumentError(
            "A variable is divided by its rows. Expected of a partitioner: a list with the number of shards, at most "
            f"as many as there are rows, and 1 for each other dimension. Received: {shown(parts)} for shape="
            f"{tuple(shape)}."
        )
    return parts[0]


def _along(shape: Sequence[int], axis: int, count: int) -> list[int]:
    parts = [1] * len(shape)
    parts[axis] = count
    return parts


def _num_bytes(shape: Sequence[int], dtype: Any) -> int:
    return math.prod(int(size) for size in shape) * np.dtype(dtype).itemsize


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise BadArgumentError(f"{name} must be positive. Received: {name}={shown(value)}.")
    return value
