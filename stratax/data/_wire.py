"""Protobuf's wire format, read at many places of one buffer at a time (data layer).

Places are int64 arrays. Reading never leaves the buffer: behind the data stand zeros, and whoever reads a length looks
where it leads before going there.
"""

from collections.abc import Sequence

import numpy as np

MARGIN = 256
"""How far behind a place within the data fixed-size reads may go."""

_MORE = 0x80
_LENGTH_BYTES = 5
_VARINT_BYTES = 10
_WORD_BYTES = 8


class Wire:
    """Serialized messages, one after another.

    Args:
        records: The messages.
    """

    def __init__(self, records: Sequence[bytes]) -> None:
        self.data = b"".join([*records, bytes(MARGIN)])
        self.bytes = np.frombuffer(self.data, np.uint8)
        self.stops = np.cumsum(np.fromiter(map(len, records), np.int64, len(records)))
        self.starts = np.concatenate([np.zeros(1, np.int64), self.stops[:-1]])

    def has_tag(self, at: np.ndarray, tag: int) -> np.ndarray:
        """Where the byte `tag` stands."""
        return self.bytes[at] == tag

    def has_text(self, at: np.ndarray, text: bytes) -> np.ndarray:
        """Where `text`, which does not end with a zero and is shorter than MARGIN, stands."""
        return self._windows(f"S{len(text)}")[at] == text

    def are_alike(self, at: np.ndarray, first: bytes, growing: Sequence[int]) -> np.ndarray | None:
        """The last byte of equally long beginnings, if all are as the first but for lengths that grow together.

        Args:
            at: Where they begin.
            first: The first of them, 8 bytes or more.
            growing: Where in it lengths of one byte stand, which differ from the first's by as much as the last byte.

        Returns:
            The last bytes, uint8; None if one of the beginnings is different.
        """
        size = len(first)
        heads = self._windows(f"V{size}")[at].view(np.uint8)
        last = heads[size - 1 :: size]
        if int(last.max()) - first[-1] + max(first[place] for place in growing) >= _MORE:
            return None
        # Eight bytes at a time, as numbers: no byte of a sum overflows, so none changes the next.
        grown = last.astype(np.uint64) - np.uint64(first[-1])
        for start in range(0, size, 8):
            start = min(start, size - 8)
            words = np.ndarray((len(at),), "<u8", heads, start, (size,))
            expected = int.from_bytes(first[start : start + 8], "little")
            steps = sum(1 << 8 * (place - start) for place in growing if start <= place < start + 8)
            found = words == (
                grown * np.uint64(steps) + np.uint64(expected) if steps else np.uint64(expected)
            )
            if np.count_nonzero(found) < len(at):
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
        content = self.bytes[starts if _all_equal(sizes) and sizes[0] == 1 else _runs(starts, sizes, 1)]
        is_last = content < _MORE
        if np.count_nonzero(is_last) == len(content):
            return content.astype(np.int64), sizes
        ends = np.cumsum(is_last)
        borders = np.cumsum(sizes)
        if np.count_nonzero(is_last[borders[sizes > 0] - 1]) < np.count_nonzero(sizes):
            return None
        counts = np.diff(np.concatenate([[0], ends])[borders], prepend=0)
        values = _joined_varints(content, np.flatnonzero(is_last))
        return None if values is None else (values, counts)

    def _windows(self, dtype: str) -> np.ndarray:
        """Every place as the beginning of a value of `dtype`; a view."""
        count = len(self.data) - np.dtype(dtype).itemsize + 1
        return np.ndarray((count,), dtype, self.data, strides=(1,))


def _joined_varints(content: np.ndarray, last: np.ndarray) -> np.ndarray | None:
    """Numbers of seven bits from each byte, the lowest first, that end at `last`; None if one has more than 64 bits."""
    widths = np.diff(last, prepend=-1)
    widest = int(widths.max())
    if widest > _WORD_BYTES:
        return _wide_varints(content, last, widths)
    padded = np.concatenate([np.zeros(_WORD_BYTES, np.uint8), content])
    # The eight bytes up to the last of each number, then only its own.
    words = np.ndarray((len(content) + 1,), "<u8", padded, strides=(1,))[last + 1]
    words = words >> (8 * (_WORD_BYTES - widths)).astype(np.uint64)
    return _without_top_bits(words, widest).view(np.int64)


def _without_top_bits(words: np.ndarray, widest: int) -> np.ndarray:
    """Closes the gaps that the top bits of bytes leave: between neighbours first, then between pairs, then fours."""
    words = words & 0x7F7F7F7F7F7F7F7F
    if widest > 1:
        words = (words & 0x007F007F007F007F) | ((words & 0x7F007F007F007F00) >> np.uint64(1))
    if widest > 2:
        words = (words & 0x00003FFF00003FFF) | ((words & 0x3FFF00003FFF0000) >> np.uint64(2))
    if widest > 4:
        words = (words & 0x000000000FFFFFFF) | ((words & 0x0FFFFFFF00000000) >> np.uint64(4))
    return words


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
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before * step, counts) + np.arange(int(counts.sum())) * step


def _all_equal(values: np.ndarray) -> bool:
    return len(values) > 0 and np.count_nonzero(values == values[0]) == len(values)
