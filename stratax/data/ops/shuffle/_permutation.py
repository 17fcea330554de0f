"""Random orders as pure functions of a key (data layer)."""

import hashlib
import math
import struct
from collections.abc import Sequence

import numpy as np

TABLE_LIMIT = 1 << 22
"""Longer permutations are computed position by position instead of being kept in memory."""

_ROUNDS = 8
_WORD = (1 << 64) - 1
# As many words of 64 bits as one hash gives.
_MAX_HASHED = 8
_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _entropy(key: Sequence[int]) -> np.random.SeedSequence:
    """NumPy takes no negative numbers; those of more than 64 bits are cut."""
    return np.random.SeedSequence([part & _WORD for part in key])


def generator(key: Sequence[int]) -> np.random.Generator:
    """A random generator, the same for the same key (integers of any sign)."""
    return np.random.default_rng(_entropy(key))


def uniform(shape: tuple[int, ...], key: Sequence[int]) -> np.ndarray:
    """Random numbers from 0 up to but not 1, the same for the same key. A few are hashed: a generator takes longer."""
    count = math.prod(shape)
    if count > _MAX_HASHED:
        return generator(key).random(shape)
    message = struct.pack(f"<{len(key)}Q", *(part & _WORD for part in key))
    digest = hashlib.blake2b(message, digest_size=8 * max(count, 1)).digest()
    words = struct.unpack_from(f"<{count}Q", digest)
    return np.array([(word >> 11) * 2.0**-53 for word in words]).reshape(shape)


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
        self._half = np.uint64(((length - 1).bit_length() + 1) // 2)
        self._mask = np.uint64((1 << int(self._half)) - 1)
        self._keys = rng.integers(0, 1 << 64, size=_ROUNDS, dtype=np.uint64)

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """The images of `indices` (int64, each within the length)."""
        if self._table is not None:
            return self._table[indices]
        values = self._encrypt(indices.astype(np.uint64))
        outside = values >= self._length
        while outside.any():
            values[outside] = self._encrypt(values[outside])
            outside = values >= self._length
        return values.astype(np.int64)

    def _encrypt(self, values: np.ndarray) -> np.ndarray:
        left, right = values >> self._half, values & self._mask
        with np.errstate(over="ignore"):
            for key in self._keys:
                left, right = right, left ^ (_scramble(right + key) & self._mask)
        return (left << self._half) | right


def _scramble(values: np.ndarray) -> np.ndarray:
    first, second = (np.uint64(m) for m in _MULTIPLIERS)
    values = (values ^ (values >> np.uint64(30))) * first
    values = (values ^ (values >> np.uint64(27))) * second
    return values ^ (values >> np.uint64(31))


class Draws:
    """Random integers of 32 bits (as int64), one for each position, the same for the same key and position.

    Args:
        key: Integers that name them.
    """

    def __init__(self, key: Sequence[int]) -> None:
        self._base = _entropy(key).generate_state(1, np.uint64)[0]

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """Those at some positions."""
        with np.errstate(over="ignore"):
            mixed = _scramble(indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + self._base)
            return (_scramble(mixed) >> np.uint64(32)).astype(np.int64)


def random_integers(indices: np.ndarray, key: Sequence[int]) -> np.ndarray:
    """As :class:`Draws`, at once."""
    return Draws(key)(indices)
