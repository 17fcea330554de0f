"""Protobuf's wire format, read at many places of one buffer at a time (data layer).

Places are int64 arrays. Reading never leaves the buffer: behind the data stand zeros, and whoever reads a length looks
where it leads before going there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

MARGIN = 256
"""How far behind a place within the data fixed-size reads may go."""

_MORE = 0x80
_LENGTH_BYTES = 5
_VARINT_BYTES = 10
_WORD_BYTES = 8
_TOP_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
# By the number of bytes that a number has: how many bits of a word are not its own; the top bits of all but its last.
_OTHER_BITS = np.array([63, *(8 * (_WORD_BYTES - width) for width in range(1, _WORD_BYTES + 1))], np.uint64)
_MORE_BITS = np.array(
    [0, *(int(_TOP_BITS) & (1 << 8 * width) - 1 for width in range(_WORD_BYTES))], np.uint64
)


class Head(NamedTuple):
    """What equally long beginnings have in common whose lengths follow from their last byte.

    Attributes:
        size: How long they are, 8 bytes or more.
        words: Eight bytes each as a number: where they are, the number where the last byte is 0, and what it grows by
            when the last byte does by 1. They overlap if need be.
        largest_last: The largest last byte with which all lengths have one byte.
    """

    size: int
    words: tuple[tuple[int, np.uint64, np.uint64], ...]
    largest_last: int

    @classmethod
    def of(cls, first: bytes, growing: Sequence[int]) -> "Head":
        """The head that looks like `first` where the last byte is 0; at `growing` are the bytes that grow with it."""
        words = []
        for start in range(0, len(first), _WORD_BYTES):
            place = min(start, len(first) - _WORD_BYTES)
            number = int.from_bytes(first[place : place + _WORD_BYTES], "little")
            step = sum(1 << 8 * (at - place) for at in growing if place <= at < place + _WORD_BYTES)
            words.append((place, np.uint64(number), np.uint64(step)))
        return cls(len(first), tuple(words), _MORE - 1 - max(first[at] for at in growing))


class Wire:
    """Serialized messages, one after another.

    Args:
        records: The messages.
    """

    def __init__(self, records: Sequence[bytes]) -> None:
        self.data = b"".join([*records, bytes(MARGIN)])
        self.bytes = np.frombuffer(self.data, np.uint8)
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        self.stops = sizes.cumsum()
        self.starts = self.stops - sizes

    def has_tag(self, at: np.ndarray, tag: int) -> np.ndarray:
        """Where the byte `tag` stands."""
        return self.bytes[at] == tag

    def has_text(self, at: np.ndarray, text: bytes) -> np.ndarray:
        """Where `text`, which does not end with a zero and is shorter than MARGIN, stands."""
        return self._windows(f"S{len(text)}")[at] == text

    def last_bytes(self, at: np.ndarray, head: Head) -> np.ndarray | None:
        """The last byte of each of several beginnings, uint8; None if they are not all like `head`."""
        heads = self._windows(f"V{head.size}")[at].view(np.uint8)
        last = heads[head.size - 1 :: head.size]
        if np.maximum.reduce(last) > head.largest_last:
            return None
        # Eight bytes at a time, as numbers: no byte of a sum overflows, so none changes the next.
        grown = last.astype(np.uint64)
        for place, expected, step in head.words:
            words = np.ndarray((len(at),), "<u8", heads, place, (head.size,))
            if not _are_equal(words, grown * step + expected if step else expected):
                return None
        return last

    def spans(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where what follows a length at `at` begins and ends; the end may be beyond any limit."""
        length = self.bytes[at]
        if not np.count_nonzero(length >= _MORE):
            start = at + 1
            return start, start + length
        return self._long_spans(at, length)

    def _long_spans(self, at: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length = (first & 0x7F).astype(np.int64)
        start = at + 1
        more = first >= _MORE
        for number in range(1, _LENGTH_BYTES):
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
        """Float32 numbers: `counts[i]` of them from `starts[i]`, one after another."""
        if _all_equal(counts):
            windows = self._windows(f"V{4 * counts[0]}") if counts[0] else np.empty(0, "V4")
            return windows[starts].view("<f4") if counts[0] else np.empty(0, np.float32)
        return self._windows("V4")[_runs(starts, counts, 4)].view("<f4")

    def strings(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """The bytes from `starts[i]` to `stops[i]` as `bytes`, dtype object."""
        sizes = stops - starts
        longest = int(sizes.max(initial=0))
        if longest > MARGIN:
            return self._sliced(starts, stops)
        strings = np.empty(len(starts), object)
        if _all_equal(sizes):
            return np.fromiter(self._equally_long(starts, longest), object, len(starts))
        for size in np.flatnonzero(np.bincount(sizes)):
            chosen = np.flatnonzero(sizes == size)
            strings[chosen] = self._equally_long(starts[chosen], int(size))
        return strings

    def _equally_long(self, starts: np.ndarray, size: int) -> list[bytes]:
        return self._windows(f"V{size}")[starts].tolist() if size else [b""] * len(starts)

    def _sliced(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        parts = (self.data[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True))
        return np.fromiter(parts, object, len(starts))

    def varints(self, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The int64 numbers between `starts[i]` and `stops[i]`, and how many there are in each.

        Returns:
            None if the bytes between some do not end with a number, or a number has more bits than 64.
        """
        sizes = stops - starts
        single = self._single_varints(stops, sizes)
        if single is not None:
            return single, np.ones(len(sizes), np.int64)
        content = self.bytes[_runs(starts, sizes, 1)]
        is_last = content < _MORE
        if np.count_nonzero(is_last) == len(content):
            return content.astype(np.int64), sizes
        borders = sizes.cumsum()
        if np.count_nonzero(is_last[borders[sizes > 0] - 1]) < np.count_nonzero(sizes):
            return None
        before = np.zeros(len(content) + 1, np.int64)
        is_last.cumsum(out=before[1:])
        values = _joined_varints(content, is_last.nonzero()[0])
        return None if values is None else (values, _differences(before[borders], 0))

    def _single_varints(self, stops: np.ndarray, sizes: np.ndarray) -> np.ndarray | None:
        """The numbers if `sizes[i]` bytes before `stops[i]` are one each and none is wide."""
        if not len(sizes) or np.minimum.reduce(sizes) < 1 or np.minimum.reduce(stops) < _WORD_BYTES:
            return None
        widest = int(np.maximum.reduce(sizes))
        if widest > _WORD_BYTES:
            return None
        words = _own_bytes(self._windows("<u8")[stops - _WORD_BYTES], sizes)
        return _without_top_bits(words, widest) if _are_equal(words & _TOP_BITS, _MORE_BITS[sizes]) else None

    def _windows(self, dtype: str) -> np.ndarray:
        """Every place as the beginning of a value of `dtype`; a view."""
        count = len(self.data) - np.dtype(dtype).itemsize + 1
        return np.ndarray((count,), dtype, self.data, strides=(1,))


def _joined_varints(content: np.ndarray, last: np.ndarray) -> np.ndarray | None:
    """Numbers of seven bits from each byte, the lowest first, that end at `last`; None if one has more than 64 bits."""
    widths = _differences(last, -1)
    widest = int(np.maximum.reduce(widths))
    if widest > _WORD_BYTES:
        return _wide_varints(content, last, widths)
    padded = np.concatenate([np.zeros(_WORD_BYTES, np.uint8), content])
    words = np.ndarray((len(content) + 1,), "<u8", padded, strides=(1,))[last + 1]
    return _without_top_bits(_own_bytes(words, widths), widest)


def _own_bytes(words: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Of eight bytes the last ones, as many as a number has."""
    return words >> _OTHER_BITS[widths]


def _without_top_bits(words: np.ndarray, widest: int) -> np.ndarray:
    """Closes the gaps that the top bits of bytes leave: between neighbours first, then between pairs, then fours."""
    words = words & _LOW_BITS
    if widest > 1:
        words = (words & 0x007F007F007F007F) | ((words & 0x7F007F007F007F00) >> np.uint64(1))
    if widest > 2:
        words = (words & 0x00003FFF00003FFF) | ((words & 0x3FFF00003FFF0000) >> np.uint64(2))
    if widest > 4:
        words = (words & 0x000000000FFFFFFF) | ((words & 0x0FFFFFFF00000000) >> np.uint64(4))
    return words.view(np.int64)


def _wide_varints(content: np.ndarray, last: np.ndarray, widths: np.ndarray) -> np.ndarray | None:
    """The same for numbers of any width, byte by byte from the last: negative ones have ten."""
    if widths.max() > _VARINT_BYTES or (content[last[widths == _VARINT_BYTES]] > 1).any():
        return None
    values = content[last].astype(np.int64)
    for number in range(1, int(widths.max())):
        rows = np.flatnonzero(widths > number)
        values[rows] = values[rows] << 7 | (content[last[rows] - number] & 0x7F)
    return values


def _runs(starts: np.ndarray, counts: np.ndarray, step: int) -> np.ndarray:
    """`starts[i], starts[i] + step, ...`, `counts[i]` of them, for every i."""
    ends = counts.cumsum()
    places = np.arange(int(ends[-1]) if len(ends) else 0)
    return (starts - (ends - counts) * step).repeat(counts) + (places if step == 1 else places * step)


def _differences(values: np.ndarray, before: int) -> np.ndarray:
    """Each value less the one before it."""
    found = values.copy()
    found[1:] -= values[:-1]
    found[:1] -= before
    return found


def _are_equal(left: np.ndarray, right: Any) -> bool:
    return np.count_nonzero(left == right) == len(left)


def _all_equal(values: np.ndarray) -> bool:
    return len(values) > 0 and _are_equal(values, values[0])
