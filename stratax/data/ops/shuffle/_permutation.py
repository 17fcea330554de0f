"""Random orders of positions as pure functions of a key (data layer)."""

from collections.abc import Sequence

import numpy as np

from stratax.data.elements import generator, scramble

# Longer permutations are computed position by position instead of being kept in memory.
TABLE_LIMIT = 1 << 22

# Four make a Feistel network pseudorandom in theory; twice as many are cheap.
_ROUNDS = 8


class Permutation:
    """A random permutation of `range(length)`, the same for the same key.

    Up to :data:`TABLE_LIMIT` it is a table. Beyond, it is a Feistel network over the next power of four with
    cycle walking (as in Black and Rogaway, "Ciphers with arbitrary finite domains", 2002): constant memory, and no
    wait before the first element.

    Args:
        length: How many positions, at least 1.
        key: Integers that name the order.
    """

    def __init__(self, length: int, key: Sequence[int]) -> None:
        self._length = length
        rng = generator(key)
        self._table: np.ndarray | None = None
        if length <= TABLE_LIMIT:
            self._table = rng.permutation(length)
            return
        # Half of an even number of bits: at most four times the length is walked through.
        self._half = np.uint64(((length - 1).bit_length() + 1) // 2)
        self._mask = np.uint64((1 << int(self._half)) - 1)
        self._keys = rng.integers(0, 1 << 64, size=_ROUNDS, dtype=np.uint64)

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """Return the images of `indices` (int64, each within the length)."""
        if self._table is not None:
            return self._table[indices]
        values = self._encrypt(indices.astype(np.uint64))
        outside = values >= self._length
        # Cycle walking: encrypting again until the number is in range stays one to one.
        while outside.any():
            values[outside] = self._encrypt(values[outside])
            outside = values >= self._length
        return values.astype(np.int64)

    def _encrypt(self, values: np.ndarray) -> np.ndarray:
        left, right = values >> self._half, values & self._mask
        with np.errstate(over="ignore"):
            for key in self._keys:
                left, right = right, left ^ (scramble(right + key) & self._mask)
        return (left << self._half) | right
