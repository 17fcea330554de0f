"""One pass over arrays that were given to Keras, in blocks of batches that are gathered at once (keras layer)."""

from typing import Any

import numpy as np
from keras import tree
from keras.src.trainers.data_adapters import array_slicing
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter


class ArrayPass:
    """The batches that Keras' adapter of arrays gives, in its order and from the same random numbers.

    Args:
        adapter: Keras' adapter.
    """

    def __init__(self, adapter: ArrayDataAdapter) -> None:
        self._columns = array_slicing.convert_to_sliceable(adapter._inputs, target_backend="numpy")
        self._num_examples = int(adapter._num_samples)
        self._batch_size = int(adapter.batch_size)
        self._shuffle = adapter._shuffle
        self._order: np.ndarray | None = None
        self._start = 0

    def __iter__(self) -> "ArrayPass":
        return self

    def __next__(self) -> Any:
        block, _ = self.next_block(1)
        return tree.map_structure(lambda column: column[0], block, none_is_leaf=False)

    def next_block(self, k: int) -> tuple[Any, int]:
        """Up to `k` next batches of one size, stacked.

        Args:
            k: At most how many.

        Returns:
            The structure of a batch with arrays of shape `[count, batch, ...]` on the host, and the count.

        Raises:
            StopIteration: At the end of the pass.
        """
        left = self._num_examples - self._start
        if left <= 0:
            raise StopIteration
        count = max(1, min(k, left // self._batch_size))
        rows = min(count * self._batch_size, left)
        chosen = self._choose(self._start, self._start + rows)
        self._start += rows

        def gather(column: Any) -> np.ndarray:
            values = np.asarray(column.convert_to_numpy(column[chosen]))
            return values.reshape(count, rows // count, *values.shape[1:])

        return tree.map_structure(gather, self._columns, none_is_leaf=False), count

    def _choose(self, start: int, stop: int) -> Any:
        """Which examples are those from `start` to before `stop` of this pass."""
        if self._shuffle == "batch":
            starts = range(start, stop, self._batch_size)
            sizes = [min(self._batch_size, stop - first) for first in starts]
            parts = [np.random.permutation(size) + first for first, size in zip(starts, sizes, strict=True)]
            return np.concatenate(parts)
        if not self._shuffle:
            return slice(start, stop)
        if self._order is None:
            self._order = np.random.permutation(self._num_examples)
        return self._order[start:stop]
