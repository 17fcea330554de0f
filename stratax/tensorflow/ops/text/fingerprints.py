"""FarmHash's Fingerprint64 of many strings at once, and how TensorFlow combines two (ops layer).

The function and its constants are FarmHash's (https://github.com/google/farmhash, `farmhashna::Hash64`), which never
change: fingerprints may be stored. Strings of one class of lengths are computed together, as NumPy arrays of words.
"""

import itertools
import struct
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

_K0 = np.uint64(0xC3A5C85C97CB3127)
_K1 = np.uint64(0xB492B66FBE98F273)
_K2 = np.uint64(0x9AE16A3B2F90404F)
# `seed` in FarmHash's `Hash64`, with which long strings begin.
_SEED = 81
# Of TensorFlow's FingerprintCat64.
_CAT = np.uint64(0xC6A4A7935BD1E995)
# Bytes that a long string is taken in by at a time.
_BLOCK = 64
_MASK = 2**64 - 1
_WORD = 8
# More different values, such as names of users, would fill memory.
_MOST_KEPT = 2**16

# TensorFlow's, of crosses and of `tf.strings.to_hash_bucket`.
DEFAULT_KEY = 0xDECAFCAFFE

Words = np.ndarray[Any, np.dtype[np.uint64]]


def fingerprint64(strings: Sequence[bytes]) -> Words:
    """Return the fingerprints of byte strings.

    Args:
        strings: Byte strings of any lengths.

    Returns:
        uint64, one for each.

    Example:
        >>> fingerprint64([b"", b"a", b"hello"]).tolist()
        [11160318154034397263, 12917804110809363939, 13009744463427800296]
    """
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    # Behind the last string: words are read whole, whatever is used of them.
    text = _Text(b"".join(strings) + bytes(_WORD), np.cumsum(lengths) - lengths, lengths)
    # The fingerprint of an empty string.
    result = np.full(len(strings), _K2)
    # All arithmetic is that of 64 bits, which wraps around.
    with np.errstate(over="ignore"):
        for shortest, longest, compute in _CLASSES:
            chosen = np.flatnonzero((lengths >= shortest) & (lengths <= longest))
            if chosen.size:
                result[chosen] = compute(text.of(chosen))
    return result


class Fingerprints:
    """Fingerprints of values that come again and again, as those of features do: computed once, then looked up.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known = _Known(most)

    def of(self, values: list[Any]) -> Words:
        """Return the fingerprints of byte strings, or of whole numbers as decimal text.

        Args:
            values: Byte strings, or Python's whole numbers.
        """
        # Several threads may be here: what one of them replaces, another goes on using.
        known = self._known
        places = np.fromiter(map(known.places.get, values, itertools.repeat(-1)), np.int64, len(values))
        found = known.words[places]
        absent = np.flatnonzero(places < 0).tolist()
        if absent:
            missing = list(dict.fromkeys(values[index] for index in absent))
            made = fingerprint64([value if isinstance(value, bytes) else b"%d" % value for value in missing])
            self._keep(missing, made)
            number = {value: index for index, value in enumerate(missing)}
            found[absent] = made[[number[values[index]] for index in absent]]
        return found

    def _keep(self, values: list[Any], words: Words) -> None:
        with self._lock:
            known = self._known
            # Begun anew where there is no room: what a thread holds stays as it is.
            if known.count + len(values) > len(known.words):
                known = _Known(max(self._most, len(values)))
            start = known.count
            known.count += len(values)
            # First the words: another thread finds them as soon as it finds their places.
            known.words[start : known.count] = words
            known.places.update(zip(values, range(start, known.count), strict=True))
            self._known = known


class _Known:
    """Values and where their fingerprints are.

    Args:
        most: For how many there is room.
    """

    def __init__(self, most: int) -> None:
        # Of which some may be of one value, that two threads asked for at once.
        self.count = 0
        self.places: dict[Any, int] = {}
        self.words: Words = np.zeros(max(most, 1), np.uint64)


def fingerprint_cat(first: Words | np.uint64, second: Words) -> Words:
    """Return the fingerprints of pairs of fingerprints, as crosses of features are hashed.

    Args:
        first: uint64, of any shape.
        second: uint64, of a shape that fits.
    """
    with np.errstate(over="ignore"):
        mixed = (first ^ _CAT) ^ (_shift_mix(second * _CAT) * _CAT)
        return _shift_mix(_shift_mix(mixed * _CAT) * _CAT)


def hash_buckets(words: Words, num_buckets: int) -> np.ndarray:
    """Return what fingerprints leave when they are divided by a number of buckets, as int64."""
    return (words % np.uint64(num_buckets)).astype(np.int64)


def murmur64(text: bytes, seed: int = DEFAULT_KEY) -> int:
    """Return the hash of TensorFlow's `tf.strings.to_hash_bucket`, a form of MurmurHash.

    Args:
        text: The string.
        seed: What the hash begins with.

    Example:
        >>> murmur64(b"hello") % 1000
        938
    """
    factor = int(_CAT)
    made = seed ^ (len(text) * factor & _MASK)
    whole = len(text) // _WORD * _WORD
    for (word,) in struct.iter_unpack("<Q", text[:whole]):
        word = word * factor & _MASK
        word = (word ^ (word >> 47)) * factor & _MASK
        made = (made ^ word) * factor & _MASK
    if rest := text[whole:]:
        made = (made ^ int.from_bytes(rest, "little")) * factor & _MASK
    made = (made ^ (made >> 47)) * factor & _MASK
    return made ^ (made >> 47)


def sip_hash64(text: bytes, key: Sequence[int]) -> int:
    """Return SipHash-2-4 of a string, the hash of TensorFlow's `tf.strings.to_hash_bucket_strong`.

    Args:
        text: The string.
        key: Two whole numbers of 64 bits.

    Example:
        >>> hex(sip_hash64(bytes(range(15)), [0x0706050403020100, 0x0F0E0D0C0B0A0908]))
        '0xa129ca6149be45e5'
    """
    first, second = key
    state = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]
    whole = len(text) // _WORD * _WORD
    # The rest of the string, with its length in the highest byte.
    last = int.from_bytes(text[whole:], "little") | (len(text) & 0xFF) << 56
    for word in [*(word for (word,) in struct.iter_unpack("<Q", text[:whole])), last]:
        state[3] ^= word
        _sip_round(state)
        _sip_round(state)
        state[0] ^= word
    state[2] ^= 0xFF
    for _ in range(4):
        _sip_round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_round(state: list[int]) -> None:
    # The round of the paper of Aumasson and Bernstein, with v0 to v3 as a to d.
    a, b, c, d = state
    a = (a + b) & _MASK
    b = _turn(b, 13) ^ a
    a = _turn(a, 32)
    c = (c + d) & _MASK
    d = _turn(d, 16) ^ c
    a = (a + d) & _MASK
    d = _turn(d, 21) ^ a
    c = (c + b) & _MASK
    b = _turn(b, 17) ^ c
    state[:] = a, b, _turn(c, 32), d


def _turn(value: int, shift: int) -> int:
    return (value << shift | value >> (64 - shift)) & _MASK


class _Text:
    """Strings in one buffer.

    Args:
        buffer: The strings one after another.
        starts: Where each begins.
        lengths: How long each is.
    """

    def __init__(self, buffer: bytes, starts: np.ndarray, lengths: np.ndarray) -> None:
        self.buffer = buffer
        self.starts = starts
        self.lengths = lengths

    def of(self, chosen: np.ndarray) -> "_Text":
        """Return some of the strings."""
        return _Text(self.buffer, self.starts[chosen], self.lengths[chosen])

    def byte(self, offsets: int | np.ndarray) -> Words:
        """Return the byte at an offset of each string."""
        return np.frombuffer(self.buffer, np.uint8)[self.starts + offsets].astype(np.uint64)

    def word(self, offsets: int | np.ndarray) -> Words:
        """Return the 8 bytes from an offset of each string."""
        return self._words(np.dtype("<u8"))[self.starts + offsets]

    def half(self, offsets: int | np.ndarray) -> Words:
        """Return the 4 bytes from an offset of each string."""
        return self._words(np.dtype("<u4"))[self.starts + offsets].astype(np.uint64)

    def from_end(self, count: int) -> Words:
        """Return the 8 bytes that begin `count` bytes before the end."""
        return self.word(self.lengths - count)

    def _words(self, dtype: np.dtype) -> np.ndarray:
        # One word for each byte of the buffer: they overlap.
        count = len(self.buffer) - dtype.itemsize + 1
        return np.ndarray((count,), dtype, self.buffer, strides=(1,))


def _rotate(value: Words, shift: int) -> Words:
    return (value >> np.uint64(shift)) | (value << np.uint64(64 - shift))


def _shift_mix(value: Words | np.uint64) -> Any:
    return value ^ (value >> np.uint64(47))


def _of_16(low: Words, high: Words, factor: Words) -> Words:
    return _shift_mix((high ^ _shift_mix((low ^ high) * factor)) * factor) * factor


def _factor(text: _Text) -> Words:
    # FarmHash's `mul`, which depends on the length in all classes but the longest.
    return _K2 + text.lengths.astype(np.uint64) * np.uint64(2)


def _up_to_3(text: _Text) -> Words:
    length = text.lengths
    # The first, the middle and the last byte, which are the same ones in a string of one.
    low = text.byte(0) + (text.byte(length >> 1) << np.uint64(8))
    high = length.astype(np.uint64) + (text.byte(length - 1) << np.uint64(2))
    return _shift_mix((low * _K2) ^ (high * _K0)) * _K2


def _up_to_7(text: _Text) -> Words:
    low = text.lengths.astype(np.uint64) + (text.half(0) << np.uint64(3))
    # The first and the last four bytes, which overlap.
    return _of_16(low, text.half(text.lengths - 4), _factor(text))


def _up_to_16(text: _Text) -> Words:
    factor = _factor(text)
    a = text.word(0) + _K2
    b = text.from_end(8)
    return _of_16(_rotate(b, 37) * factor + a, (_rotate(a, 25) + b) * factor, factor)


def _up_to_32(text: _Text) -> Words:
    return _of_16(*_halves(text, text.word(0) * _K1), _factor(text))


def _up_to_64(text: _Text) -> Words:
    factor = _factor(text)
    a = text.word(0) * _K2
    # As `HashLen33to64` of FarmHash.
    y, other = _halves(text, a)
    z = _of_16(y, other, factor)
    e, f = text.word(16) * factor, text.word(24)
    g = (y + text.from_end(32)) * factor
    h = (z + text.from_end(24)) * factor
    return _of_16(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, factor)


def _halves(text: _Text, a: Words) -> tuple[Words, Words]:
    b, c, d = text.word(8), text.from_end(8) * _factor(text), text.from_end(16) * _K2
    return _rotate(a + b, 43) + _rotate(c, 30) + d, a + _rotate(b + _K2, 18) + c


class _State:
    """What is carried from block to block of long strings: seven words for each string."""

    def __init__(self, text: _Text) -> None:
        count = len(text.lengths)
        y = np.uint64(_SEED) * _K1 + np.uint64(113)
        self.words = np.zeros((7, count), np.uint64)
        # x, y, z, then the two words of v and of w, which begin as zeros.
        self.words[0] = np.uint64(_SEED) * _K2 + text.word(0)
        self.words[1] = y
        self.words[2] = _shift_mix(y * _K2 + np.uint64(113)) * _K2


def _longer(text: _Text) -> Words:
    state = _State(text).words
    last = (text.lengths - 1) // _BLOCK
    for block in range(int(last.max())):
        # Shorter strings have come to their last block, which `_finish` takes.
        running = np.flatnonzero(last > block)
        part = text.of(running)
        state[:, running] = _mix(state[:, running], part, np.int64(block * _BLOCK), _K1, np.uint64(1))
    return _finish(state, text)


def _mix(state: Any, text: _Text, offset: Any, factor: Any, last: np.uint64) -> Any:
    """Take one block of 64 bytes in; `last` is the weight that two of the words have: 9 for the last block, else 1."""
    # The names of FarmHash's `Hash64` for long strings.
    x, y, z, v1, v2, w1, w2 = state
    words = [text.word(offset + _WORD * i) for i in range(8)]
    x = _rotate(x + y + v1 + words[1], 37) * factor
    y = _rotate(y + v2 + words[6], 42) * factor
    x = x ^ (w2 * last)
    y = y + v1 * last + words[5]
    z = _rotate(z + w1, 33) * factor
    v1, v2 = _weak(words[:4], v2 * factor, x + w1)
    w1, w2 = _weak(words[4:], z + w2, y + words[2])
    # x and z change places behind each block.
    return np.stack([z, y, x, v1, v2, w1, w2])


def _weak(words: list[Words], a: Words, b: Words) -> tuple[Words, Words]:
    a = a + words[0]
    b = _rotate(b + a + words[3], 21)
    # `WeakHashLen32WithSeeds` of four words.
    c = a
    a = a + words[1] + words[2]
    return a + words[3], b + _rotate(a, 44) + c


def _finish(state: Any, text: _Text) -> Words:
    _, _, z, v1, _, w1, _ = state
    # The order of additions is FarmHash's: w1 takes v1 in after it has changed.
    factor = _K1 + ((z & np.uint64(0xFF)) << np.uint64(1))
    w1 = w1 + ((text.lengths - 1) & (_BLOCK - 1)).astype(np.uint64)
    v1 = v1 + w1
    state = np.stack([*state[:3], v1, state[4], w1 + v1, state[6]])
    # The last 64 bytes, which overlap the block before.
    x, y, z, v1, v2, w1, w2 = _mix(state, text, text.lengths - _BLOCK, factor, np.uint64(9))
    low = _of_16(v1, w1, factor) + _shift_mix(y) * _K0 + z
    return _of_16(low, _of_16(v2, w2, factor) + x, factor)


# FarmHash has an algorithm for each range of lengths.
_CLASSES: tuple[tuple[int, float, Any], ...] = (
    (1, 3, _up_to_3),
    (4, 7, _up_to_7),
    (8, 16, _up_to_16),
    (17, 32, _up_to_32),
    (33, 64, _up_to_64),
    (65, float("inf"), _longer),
)
