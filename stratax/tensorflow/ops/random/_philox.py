"""TensorFlow's random numbers on the host, for operations with a seed of their own (ops layer).

The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). Its key is the seed
of the program and its counter begins with that of the operation; each call passes over as many counters as TensorFlow
reserves, whatever it uses. Numbers are equal to TensorFlow's, to the last bit of the functions that transform them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

# Counters that a call reserves for each number: so many words, where one in doubt takes several.
RESERVED = 256
# Words of one counter.
_GROUP = 4
_ROUNDS = 10
# The constants of the paper: multipliers of a round, and what is added to the key between rounds.
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# Of a uniform number before its logarithm is taken, as TensorFlow's `BoxMullerFloat` has it.
_SMALLEST = 1e-7
# Standard deviations beyond which `truncated_normal` draws again.
_LIMIT = 2.0
# TensorFlow's, of `random_seed.py`.
_DEFAULT_SEED, _MAX = 87654321, 2**31 - 1

Seeds = tuple[int, int]


def seeds_of(program: int | None, operation: int) -> Seeds:
    """Return what TensorFlow makes of the seeds of a program, None if it has none, and of an operation."""
    first = _DEFAULT_SEED if program is None else program % _MAX
    second = operation % _MAX
    # Two zeros would ask for a seed that nobody knows.
    return (0, _MAX) if (first, second) == (0, 0) else (first, second)


def _words(seeds: Seeds, counters: np.ndarray) -> np.ndarray:
    """Return four words for each counter, uint64 below 2**32, shape `(counters, 4)`."""
    # A counter has 128 bits: the lower half counts, the upper one is the seed of the operation.
    counter = counters.astype(np.uint64)
    state = [
        counter & _LOW,
        counter >> _HALF,
        np.full_like(counter, seeds[1] & 0xFFFFFFFF),
        np.full_like(counter, seeds[1] >> 32),
    ]
    keys = [seeds[0] & 0xFFFFFFFF, seeds[0] >> 32]
    for _ in range(_ROUNDS):
        # Products of two words of 32 bits, of which both halves are used.
        first, second = _MULTIPLIERS[0] * state[0], _MULTIPLIERS[1] * state[2]
        state = [
            (second >> _HALF) ^ state[1] ^ np.uint64(keys[0]),
            second & _LOW,
            (first >> _HALF) ^ state[3] ^ np.uint64(keys[1]),
            first & _LOW,
        ]
        keys = [(key + step) & 0xFFFFFFFF for key, step in zip(keys, _WEYL, strict=True)]
    return np.stack(state, axis=-1)


def _consecutive(seeds: Seeds, start: int, count: int) -> np.ndarray:
    """Return `count` words from a counter on."""
    groups = -(-count // _GROUP)
    return _words(seeds, start + np.arange(groups)).reshape(-1)[:count]


def _fractions(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return floats from 0 up to but not 1: random bits become the fraction of a float from 1 to 2."""
    if dtype == np.float64:
        pairs = words.reshape(-1, 2)
        # 52 bits of fraction: 20 of the first word, all of the second.
        bits = ((pairs[:, 0] & np.uint64(0xFFFFF)) << _HALF) | pairs[:, 1] | np.uint64(1023 << 52)
        return bits.view(np.float64) - 1.0
    if dtype == np.float32:
        return ((words & np.uint64(0x7FFFFF)) | np.uint64(127 << 23)).astype(np.uint32).view(np.float32) - 1
    # Bits of the fraction, and the exponent of 1, of float16 and of bfloat16.
    mantissa, exponent = (10, 15) if dtype == np.float16 else (7, 127)
    bits = (words & np.uint64((1 << mantissa) - 1)) | np.uint64(exponent << mantissa)
    return bits.astype(np.uint16).view(dtype) - np.ones((), dtype)


def uniform(seeds: Seeds, start: int, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Return floats from 0 up to but not 1."""
    count = math.prod(shape)
    words = _consecutive(seeds, start, count * (2 if dtype == np.float64 else 1))
    return _fractions(words, dtype).reshape(shape)


def integers(seeds: Seeds, start: int, shape: Sequence[int], low: int, high: int, dtype: np.dtype) -> Any:
    """Return whole numbers from `low` up to but not `high`."""
    count, is_wide = math.prod(shape), dtype.itemsize == 8
    words = _consecutive(seeds, start, count * (2 if is_wide else 1))
    if is_wide:
        words = words[0::2] | (words[1::2] << _HALF)
    # Not quite even, and TensorFlow's.
    offsets = words % np.uint64(high - low)
    # Wraps around, as the sum of the offset and a negative `low` has to.
    return (offsets + np.uint64(low % (1 << 64))).astype(dtype).reshape(shape)


def _box_muller(words: np.ndarray, dtype: type[np.floating[Any]]) -> np.ndarray:
    """Return two normally distributed numbers for each two uniformly distributed ones, in turns of sine and cosine."""
    # The first of two gives the radius, the second the angle.
    pairs = _fractions(words, np.dtype(dtype)).reshape(-1, 2)
    radius = np.sqrt(dtype(-2) * np.log(np.maximum(pairs[:, 0], dtype(_SMALLEST))))
    # In 64 bits: TensorFlow's constant is a double.
    angle = (2 * math.pi * pairs[:, 1].astype(np.float64)).astype(dtype)
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=-1).reshape(-1)


def normal(seeds: Seeds, start: int, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Return normally distributed numbers."""
    count = math.prod(shape)
    if dtype == np.float64:
        # Two words for each double, so that a counter gives two numbers.
        words = _consecutive(seeds, start, _GROUP * -(-count // 2))
        return _box_muller(words, np.float64)[:count].reshape(shape)
    # Whole counters: numbers that are left over are drawn, and dropped. bfloat16 and float16 are rounded at the end.
    words = _consecutive(seeds, start, _GROUP * -(-count // _GROUP))
    return _box_muller(words, np.float32)[:count].reshape(shape).astype(dtype)


def truncated_normal(seeds: Seeds, start: int, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Return normally distributed numbers of which those two standard deviations away or more were drawn again."""
    count = math.prod(shape)
    is_double = dtype == np.float64
    # Each group of results has counters of its own, of which it takes as many as it needs.
    size = 2 if is_double else _GROUP
    groups = -(-count // size)
    kind: type[np.floating[Any]] = np.float64 if is_double else np.float32
    # As far apart as TensorFlow's threads skip for each group.
    counters = start + np.arange(groups) * (size * RESERVED // _GROUP)
    kept = np.empty((groups, 0), kind)
    results = np.empty((groups, size), kind)
    missing, step = np.arange(groups), 0
    while len(missing):
        drawn = _box_muller(_words(seeds, counters[missing] + step).reshape(-1), kind)
        kept = np.concatenate([kept, drawn.reshape(len(missing), -1)], axis=1)
        step += 1
        inside = np.abs(kept) < _LIMIT
        done = inside.sum(axis=1) >= size
        # The first that are inside, in the order in which they came.
        order = np.argsort(~inside[done], axis=1, kind="stable")[:, :size]
        results[missing[done]] = np.take_along_axis(kept[done], order, axis=1)
        missing, kept = missing[~done], kept[~done]
    return results.reshape(-1)[:count].reshape(shape).astype(dtype)


def permutation(seeds: Seeds, start: int, count: int) -> np.ndarray:
    """Return the positions of elements that are shuffled."""
    order = np.arange(count)
    words = _consecutive(seeds, start, max(count - 1, 0)).tolist()
    for place, word in enumerate(words):
        # Fisher and Yates, from the front.
        other = place + word % (count - place)
        order[place], order[other] = order[other], order[place]
    return order


def is_drawn(dtype: np.dtype) -> bool:
    """Return whether there are numbers of a dtype."""
    return dtype in (np.float16, np.float32, np.float64, np.int32, np.int64, ml_dtypes.bfloat16)


Draw = Callable[[Seeds, int], np.ndarray]
