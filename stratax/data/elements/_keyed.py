"""Random numbers as pure functions of a key (data layer)."""

import hashlib
import math
import struct
from collections.abc import Sequence

import numpy as np

_WORD = (1 << 64) - 1

_PAIR = struct.Struct("<2Q").pack

# Between two neighbours of the floats that are drawn.
_STEP = 2.0**-53

# As many words of 64 bits as one hash gives.
MAX_HASHED = 8

# Those of splitmix64.
_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _entropy(key: Sequence[int]) -> np.random.SeedSequence:
    """Return a seed for NumPy, which takes no negative numbers; those of more than 64 bits are cut."""
    return np.random.SeedSequence([part & _WORD for part in key])


def generator(key: Sequence[int]) -> np.random.Generator:
    """Return a random generator, the same for the same key (integers of any sign)."""
    return np.random.default_rng(_entropy(key))


def uniform(shape: tuple[int, ...], key: Sequence[int]) -> np.ndarray:
    """Draw numbers from 0 up to but not 1, the same for the same key. A few are hashed: a generator takes longer."""
    return hash_key(shape, pack_key(key)) if math.prod(shape) <= MAX_HASHED else generator(key).random(shape)


def pack_key(key: Sequence[int]) -> bytes:
    """Pack a key for :func:`hash_key`; what a longer key gives begins with what a shorter one gives."""
    return struct.pack(f"<{len(key)}Q", *[part & _WORD for part in key])


def pack_pair(first: int, second: int) -> bytes:
    """Pack a key of two numbers, the first not negative, in a third of the time."""
    return _PAIR(first, second & _WORD)


def hash_key(shape: tuple[int, ...], key: bytes) -> np.ndarray:
    """Draw as :func:`uniform`, by a packed key and at most `MAX_HASHED` numbers."""
    if shape == ():
        return np.array(
            (int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") >> 11) * _STEP
        )
    count = math.prod(shape)
    digest = hashlib.blake2b(key, digest_size=8 * max(count, 1)).digest()
    words = struct.unpack_from(f"<{count}Q", digest)
    return np.array([(word >> 11) * _STEP for word in words]).reshape(shape)


def scramble(values: np.ndarray) -> np.ndarray:
    """Mix 64-bit words so that neighbours have nothing in common; one to one."""
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
        """Draw the numbers at some positions."""
        with np.errstate(over="ignore"):
            # Multiples of an odd number are distinct, and far apart after scrambling.
            mixed = scramble(indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + self._base)
            return (scramble(mixed) >> np.uint64(32)).astype(np.int64)


def random_integers(indices: np.ndarray, key: Sequence[int]) -> np.ndarray:
    """Draw integers at once, as :class:`Draws` would."""
    return Draws(key)(indices)
