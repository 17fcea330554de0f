"""Protobuf's wire format, read at many places of one buffer at a time (data layer).

Places are int64 arrays. Reading never leaves the buffer: before and behind the data stand zeros, and whoever reads a
length looks where it leads before going there.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stratax.base.typing import TensorLike

# How far behind a place within the data fixed-size reads may go.
MARGIN = 256

_TAIL = bytes(MARGIN)
_LEAD = bytes(7)  # What eight bytes that end with the first byte of the data begin with.
_MORE = 0x80
_LENGTH_BYTES = 5
_VARINT_BYTES = 10
# So many strings of one size are made quicker by one operation than one by one.
_FEWEST_EQUALLY_LONG = 64
_WORD_BYTES = 8
_TOP_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
# By the number of bytes that a number has: how many bits of a word are not its own; the top bits of all but its last.
_OTHER_BITS = np.array([63, *(8 * (_WORD_BYTES - width) for width in range(1, _WORD_BYTES + 1))], np.uint64)
_MORE_BITS = np.array(
    [0, *(int(_TOP_BITS) & (1 << 8 * width) - 1 for width in range(_WORD_BYTES))], np.uint64
)


class FieldHead(NamedTuple):
    """What equally long beginnings have in common whose lengths follow from their last byte.

    Attributes:
        size: How long they are, 8 bytes or more.
        words: Eight bytes each as a number: where they are, the number where the last byte is 0, and what it grows by
            when the last byte does by 1. They overlap if need be.
        largest_last: The largest last byte with which all lengths have one byte.
    """

    size: int
    words: tuple[tuple[int, int, int], ...]
    largest_last: int

    @classmethod
    def of(cls, first: bytes, growing: Sequence[int]) -> "FieldHead":
        """Return the head that looks like `first` where the last byte is 0; at `growing` are the bytes that grow."""
        words = []
        for start in range(0, len(first) - 1, _WORD_BYTES):
            offset = min(start, len(first) - 1 - _WORD_BYTES)
            number = int.from_bytes(first[offset : offset + _WORD_BYTES], "little")
            step = sum(1 << 8 * (at - offset) for at in growing if offset <= at < offset + _WORD_BYTES)
            words.append((offset, number, step))
        return cls(len(first), tuple(words), _MORE - 1 - max(first[at] for at in growing))


class Heads(NamedTuple):
    """Several :class:`FieldHead`, between which stands as much as their last bytes say.

    Attributes:
        sizes: How long each is.
        largest_last: The largest last byte of each, uint8 [heads, 1].
        num_words: How many words the heads up to each have.
        which: Which head each word belongs to, int64 [words].
        offsets: Where it stands, from the head's last byte on, int64 [words, 1].
        numbers: The word where the last byte is 0, uint64 [words, 1].
        steps: What it grows by, uint64 [words, 1].
    """

    sizes: tuple[int, ...]
    largest_last: np.ndarray
    num_words: tuple[int, ...]
    which: np.ndarray
    offsets: np.ndarray
    numbers: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, heads: Sequence[FieldHead]) -> "Heads":
        """Join heads one after another."""
        words = [
            (i, offset - head.size + 1, *word) for i, head in enumerate(heads) for offset, *word in head.words
        ]
        which, offsets, numbers, steps = zip(*words, strict=True)
        return cls(
            tuple(head.size for head in heads),
            np.array([[head.largest_last] for head in heads], np.uint8),
            tuple(itertools.accumulate(len(head.words) for head in heads)),
            np.array(which),
            np.array(offsets)[:, None],
            np.array(numbers, np.uint64)[:, None],
            np.array(steps, np.uint64)[:, None],
        )


class Wire:
    """Serialized messages, one after another.

    Args:
        records: The messages.
    """

    def __init__(self, records: Sequence[bytes]) -> None:
        # Zeros on both sides, so that fixed-size reads near the ends stay within the buffer.
        self.data = b"".join([_LEAD, *records, _TAIL])
        self.bytes = np.frombuffer(self.data, np.uint8)
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        self.stops = sizes.cumsum() + len(_LEAD)
        self.starts = self.stops - sizes
        self._words = self._windows("<u8")

    def has_tag(self, at: np.ndarray, tag: int) -> np.ndarray:
        """Return where the byte `tag` stands."""
        return self.bytes[at] == tag

    def has_text(self, at: np.ndarray, text: bytes) -> np.ndarray:
        """Return where `text`, which does not end with a zero and is shorter than MARGIN, stands."""
        # One comparison of fixed-size strings for all records; NumPy ignores trailing zeros, hence the
        # condition.
        return self._windows(f"S{len(text)}")[at] == text

    def follow(self, at: np.ndarray, stops: np.ndarray, heads: Heads) -> tuple[np.ndarray, np.ndarray]:
        """Go from head to head at several places at once, as far as all of them are alike.

        Args:
            at: Where the first heads begin.
            stops: What the last bytes may not lead behind.
            heads: What is expected.

        Returns:
            Where the last bytes of the heads stand, int64, and these bytes, uint8: [heads that are alike, places].
        """
        lasts = np.empty((len(heads.sizes), len(at)), np.int64)
        lengths = np.empty(lasts.shape, np.uint8)
        end = at - 1
        for size, last, length in zip(heads.sizes, lasts, lengths, strict=True):
            np.add(end, size, out=last)
            # What a damaged length leads to is looked at below.
            self.bytes.take(last, out=length, mode="clip")
            end = last + length
        count = len(lasts)
        if np.count_nonzero(end < stops) < len(stops) or np.count_nonzero(lengths > heads.largest_last):
            count = _num_leading((lasts + lengths < stops) & (lengths <= heads.largest_last))
        count = self._num_alike(lasts, lengths, heads, count)
        return lasts[:count], lengths[:count]

    def _num_alike(self, lasts: np.ndarray, lengths: np.ndarray, heads: Heads, count: int) -> int:
        """Return how many of the first `count` heads look everywhere as they should."""
        if not count:
            return 0
        part = slice(0, heads.num_words[count - 1])
        which = heads.which[part]
        words = self._words[lasts[which] + heads.offsets[part]]
        # Eight bytes at a time, as numbers: no byte of a sum overflows, so none changes the next.
        is_alike = words == lengths[which] * heads.steps[part] + heads.numbers[part]
        if np.count_nonzero(is_alike) == is_alike.size:
            return count
        return int(which[_num_leading(is_alike)])

    def spans(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where what follows a length at `at` begins and ends; the end may be beyond any limit."""
        length = self.bytes[at]
        start = at + 1
        more = length >= _MORE
        # Nearly all lengths have one byte, nearly all others two; the rest takes the slower method.
        if not np.count_nonzero(more):
            return start, start + length
        second = self.bytes[start]
        if not np.count_nonzero(second[more] >= _MORE):
            start = start + more
            return start, start + (length & 0x7F) + (second * more).astype(np.int64) * _MORE
        return self._long_spans(at, length)

    def _long_spans(self, at: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length = (first & 0x7F).astype(np.int64)
        start = at + 1
        more = first >= _MORE
        for number in range(1, _LENGTH_BYTES):
            # Times `more`: a length that has ended takes part with zeros.
            byte = self.bytes[np.minimum(start, len(self.bytes) - 1)] * more
            length |= (byte & 0x7F).astype(np.int64) << 7 * number
            start = start + more
            more = byte >= _MORE
            if not np.count_nonzero(more):
                return start, start + length
        # No message is so long: beyond every limit.
        length[more] = len(self.bytes)
        return start, start + length

    def floats(self, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return float32 numbers: `counts[i]` of them from `starts[i]`, one after another."""
        # Equal counts are one gather of larger items, which is much faster than one per number.
        if _all_equal(counts):
            windows = self._windows(f"V{4 * counts[0]}") if counts[0] else np.empty(0, "V4")
            return windows[starts].view("<f4") if counts[0] else np.empty(0, np.float32)
        return self._windows("V4")[_runs(starts, counts, counts.cumsum(), 4)].view("<f4")

    def strings(self, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the `sizes[i]` bytes from `starts[i]` as `bytes`, dtype object."""
        longest = int(np.maximum.reduce(sizes, initial=0))
        if longest <= MARGIN:
            # The sizes that occur; `bincount` is bounded, as the longest is short.
            different = np.flatnonzero(np.bincount(sizes))
            if len(different) == 1:
                return np.fromiter(self._equally_long(starts, longest), object, len(starts))
            if len(different) * _FEWEST_EQUALLY_LONG <= len(sizes):
                strings = np.empty(len(starts), object)
                for size in different.tolist():
                    chosen = np.flatnonzero(sizes == size)
                    strings[chosen] = self._equally_long(starts[chosen], size)
                return strings
        parts = map(self.data.__getitem__, map(slice, starts.tolist(), (starts + sizes).tolist()))
        return np.fromiter(parts, object, len(starts))

    def _equally_long(self, starts: np.ndarray, size: int) -> list[bytes]:
        return self._windows(f"V{size}")[starts].tolist() if size else [b""] * len(starts)

    def varints(self, starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the int64 numbers in `sizes[i]` bytes from `starts[i]`, and how many there are in each.

        Returns:
            None if the bytes between some do not end with a number, or a number has more bits than 64.
        """
        if not len(sizes):
            return np.zeros(0, np.int64), sizes
        if not np.minimum.reduce(sizes):
            return self._some_varints(starts, sizes)
        single = self._single_varints(starts, sizes)
        if single is not None:
            return single, np.ones(len(sizes), np.int64)
        ends = sizes.cumsum()
        offsets = _runs(starts, sizes, ends, 1)
        content = self.bytes.take(offsets)
        is_last = content < _MORE
        last = is_last.nonzero()[0]
        # Every number has one byte: the bytes are the numbers.
        if len(last) == len(content):
            return content.astype(np.int64), sizes
        # A run of bytes that ends within a number is damaged.
        if np.count_nonzero(is_last.take(ends - 1)) < len(ends):
            return None
        widths = _differences(last, -1)
        widest = int(np.maximum.reduce(widths))
        if widest > _WORD_BYTES:
            values = _wide_varints(content, last, widths)
        else:
            values = _without_top_bits(self._words_behind(offsets.take(last), widths), widest)
        return None if values is None else (values, _differences(last.searchsorted(ends), 0))

    def _some_varints(self, starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Read varints where some of them are empty."""
        which = sizes.nonzero()[0]
        found = self.varints(starts[which], sizes[which])
        if found is None:
            return None
        counts = np.zeros(len(sizes), np.int64)
        counts[which] = found[1]
        return found[0], counts

    def _single_varints(self, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray | None:
        """Return the numbers if they are one each and none is wide."""
        widest = int(np.maximum.reduce(sizes))
        if widest > _WORD_BYTES:
            return None
        words = self._words_behind(starts + sizes - 1, sizes)
        # One number each: all bytes but the last have the top bit.
        is_one_each = _are_equal(words & _TOP_BITS, _MORE_BITS.take(sizes))
        return _without_top_bits(words, widest) if is_one_each else None

    def _words_behind(self, lasts: np.ndarray, widths: np.ndarray) -> np.ndarray:
        """Return bytes up to a last one as a number, `widths[i]` of them."""
        # Read backwards from the last byte and shifted: what stands before the
        # number falls out.
        return self._words[lasts - (_WORD_BYTES - 1)] >> _OTHER_BITS.take(widths)

    def _windows(self, dtype: str) -> np.ndarray:
        """Return a view in which every position is the beginning of a value of `dtype`."""
        count = len(self.data) - np.dtype(dtype).itemsize + 1
        # Overlapping items with a stride of one byte: a gather at any offsets is a single indexing.
        return np.ndarray((count,), dtype, self.data, strides=(1,))


def _without_top_bits(words: np.ndarray, widest: int) -> np.ndarray:
    """Close the gaps that the top bits of bytes leave: between neighbours first, then between pairs, then fours."""
    # The top bit of a byte says only whether another one follows.
    words = words & _LOW_BITS
    if widest > 1:
        words = (words & 0x007F007F007F007F) | ((words & 0x7F007F007F007F00) >> np.uint64(1))
    if widest > 2:
        words = (words & 0x00003FFF00003FFF) | ((words & 0x3FFF00003FFF0000) >> np.uint64(2))
    if widest > 4:
        words = (words & 0x000000000FFFFFFF) | ((words & 0x0FFFFFFF00000000) >> np.uint64(4))
    return words.view(np.int64)


def _wide_varints(content: np.ndarray, last: np.ndarray, widths: np.ndarray) -> np.ndarray | None:
    """Read numbers of any width, byte by byte from the last: negative ones have ten bytes."""
    # Ten bytes hold 70 bits; the last one may only add the 64th.
    if widths.max() > _VARINT_BYTES or (content[last[widths == _VARINT_BYTES]] > 1).any():
        return None
    values = content[last].astype(np.int64)
    for number in range(1, int(widths.max())):
        rows = np.flatnonzero(widths > number)
        # The last byte holds the highest bits.
        values[rows] = values[rows] << 7 | (content[last[rows] - number] & 0x7F)
    return values


def _runs(starts: np.ndarray, counts: np.ndarray, ends: np.ndarray, step: int) -> np.ndarray:
    """Return `starts[i], starts[i] + step, ...`, `counts[i]` of them, for every i; `ends` sums the counts up to i."""
    # Each start less the offset that the running count below will have there.
    offsets = (starts - (ends - counts) * step).repeat(counts)
    offsets += np.arange(0, len(offsets) * step, step)
    return offsets


def _differences(values: np.ndarray, before: int) -> np.ndarray:
    """Return each value less the one before it."""
    found = values.copy()
    found[1:] -= values[:-1]
    found[:1] -= before
    return found


def _num_leading(flags: np.ndarray) -> int:
    """Return how many rows are all True before the first that is not."""
    rows = np.logical_and.reduce(flags, axis=1)
    return len(rows) if rows.all() else int(rows.argmin())


def _are_equal(left: np.ndarray, right: TensorLike) -> bool:
    return np.count_nonzero(left == right) == len(left)


def _all_equal(values: np.ndarray) -> bool:
    return len(values) > 0 and _are_equal(values, values[0])
