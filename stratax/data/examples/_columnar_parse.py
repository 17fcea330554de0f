"""The quick way to parse a batch of Examples: all of them at once, entry by entry (data layer).

One place for each Example walks over the wire format in lockstep: NumPy reads the tags and lengths of all Examples in
one operation. Examples with one order of features take few operations; other orders take more. What is not written as
protobuf's own writers do (values before names, numbers that are not packed, names that occur twice), and what is
damaged, is left to protobuf, so the result does not depend on the way. As in TensorFlow, the values of features that
nobody asked for are passed over unread.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stratax.data.examples._features import ParsedFeature
from stratax.data.examples._values import BYTES, FLOAT, INT64, FeatureKind, Ragged
from stratax.data.examples._wire import FieldHead, Heads, Wire

_FIRST_TAG = 0x0A
_SECOND_TAG = 0x12
_FEWEST_LANES = 4
_HEAD_BYTES = 7
_MOST_KEYS_AT_ONCE = 16
# How many entries, of all Examples together, are read at once: they stay in the processor's cache.
_MOST_ALIKE = 1 << 14
# How often it is tried where entries turn out not to be alike.
_MOST_TRIES = 3
_MOST_KEY_BYTES = 127


class _Lanes(NamedTuple):
    """Some of the Examples, and a part of each: their indices in the batch, where the part begins and where it ends."""

    which: np.ndarray
    starts: np.ndarray
    stops: np.ndarray

    def where(self, chosen: np.ndarray) -> "_Lanes":
        """Return the lanes for which `chosen` is True."""
        if np.count_nonzero(chosen) == len(chosen):
            return self
        return _Lanes(self.which[chosen], self.starts[chosen], self.stops[chosen])

    def nonempty(self) -> "_Lanes":
        """Return the lanes whose part has any bytes."""
        return self.where(self.starts < self.stops)


def parse_columns(
    records: Sequence[bytes], features: Mapping[str, ParsedFeature]
) -> tuple[dict[str, Ragged], np.ndarray] | None:
    """Return the values of some features in those Examples of a batch that are written in the usual way.

    Args:
        records: Serialized Examples.
        features: The features to read, by name.

    Returns:
        The values in the Examples that were understood, in their order; and which these are, bool, one for each of
        `records`. None if some list of numbers is damaged.
    """
    walk = _Walk(Wire(records), features)
    walk.run()
    understood = ~walk.deviates
    found = {}
    for key, column in walk.columns.items():
        ragged = column.read_ragged(understood)
        if ragged is None:
            return None
        found[key] = ragged
    return found, understood


class _Column:
    """Where the values of one feature are.

    Attributes:
        kind: The kind of values.
        is_met: Whether any Example is known to have the feature.
    """

    def __init__(self, wire: Wire, kind: FeatureKind, num_examples: int) -> None:
        self.kind = kind
        self.is_met = False
        self._wire = wire
        self._met = np.zeros(num_examples, bool)
        self._is_there = np.zeros(num_examples, bool)
        self._parts: list[_Lanes] = []

    def has_met(self, which: np.ndarray) -> np.ndarray:
        """Return which of some Examples are known to have the feature, perhaps without values of any kind."""
        return self._met[which]

    def meet(self, which: np.ndarray) -> None:
        """Note that some Examples have the feature."""
        self.is_met = True
        _set(self._met, which)

    def find(self, which: np.ndarray) -> None:
        """Note that some Examples have values of the kind, perhaps none."""
        _set(self._is_there, which)

    def add(self, part: _Lanes) -> None:
        """Add a list of numbers, or the next byte string, of some Examples."""
        if len(part.which):
            self._parts.append(part)

    def read_ragged(self, understood: np.ndarray) -> Ragged | None:
        """Return the values in the Examples that were understood; None if numbers are damaged."""
        is_all = np.count_nonzero(understood) == len(understood)
        parts = self._in_order()
        # Examples that deviate are parsed by protobuf as a whole; what was found of them is dropped.
        if not is_all:
            parts = parts.where(understood[parts.which])
        found = self._values(parts)
        if found is None:
            return None
        values, counts = found
        if len(self._parts) != 1 or len(counts) != len(understood):
            # An Example may have several parts, or none.
            counts = np.bincount(parts.which.repeat(counts), minlength=len(understood))
        missing = ~self._is_there
        if not is_all:
            counts, missing = counts[understood], missing[understood]
        return Ragged(values, counts, missing)

    def _values(self, parts: _Lanes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the values of some parts, and how many there are in each."""
        sizes = parts.stops - parts.starts
        if self.kind is INT64:
            return self._wire.varints(parts.starts, sizes)
        if self.kind is FLOAT:
            counts = sizes >> 2
            return self._wire.floats(parts.starts, counts), counts
        return self._wire.strings(parts.starts, sizes), np.ones(len(sizes), np.int64)

    def _in_order(self) -> _Lanes:
        """Return all parts, by Example."""
        if not self._parts:
            none = np.zeros(0, np.int64)
            return _Lanes(none, none, none)
        if len(self._parts) == 1:
            return self._parts[0]
        parts = _Lanes(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
        # Stable: byte strings of one Example stay in their order.
        order = np.argsort(parts.which, kind="stable")
        return _Lanes(*(column[order] for column in parts))


class _Walk:
    """The way through a batch.

    Attributes:
        columns: What was found, by name of the feature.
        deviates: Which Examples are not written in the usual way; what was found of them does not count.
    """

    def __init__(self, wire: Wire, features: Mapping[str, ParsedFeature]) -> None:
        count = len(wire.starts)
        self.columns = {key: _Column(wire, feature.kind, count) for key, feature in features.items()}
        self.deviates = np.zeros(count, bool)
        self._wire = wire
        self._num_tries = _MOST_TRIES
        self._wanted = {_header(key.encode()): column for key, column in self.columns.items()}

    def run(self) -> None:
        """Go from entry to entry of the map of features."""
        wire = self._wire
        examples = _Lanes(np.arange(len(wire.starts)), wire.starts, wire.stops).nonempty()
        rest = self._whole(examples, _FIRST_TAG).nonempty()
        while len(rest.which):
            # For a few long Examples the fixed cost of NumPy calls is higher than protobuf's.
            if len(rest.which) < _FEWEST_LANES:
                self.deviates[rest.which] = True
                return
            rest = self._step_alike(rest) or self._step(rest)

    def _step(self, rest: _Lanes) -> _Lanes:
        """Read the next entry of each Example; return what comes behind it."""
        entries, rest = self._next(rest, _FIRST_TAG)
        self._read(entries)
        return rest.where((rest.starts < rest.stops) & ~self.deviates[rest.which])

    def _step_alike(self, rest: _Lanes) -> _Lanes | None:
        """Read as many entries of each Example as are short, and alike but for the bytes of one list.

        What several entries begin with is compared at once: it takes half as many operations.

        Returns:
            What comes behind them; None if nothing was read.
        """
        if not self._num_tries:
            return None
        most = 1 + _MOST_ALIKE // len(rest.which)
        headers, heads = self._short_entries(int(rest.starts[0]), int(rest.stops[0]), most)
        if heads is None:
            return None
        lasts, sizes = self._wire.follow(rest.starts, rest.stops, heads)
        if len(lasts) < len(headers):
            self._num_tries -= 1
        starts = lasts + 1
        stops = starts + sizes
        stop = rest.starts
        for header, start, next_stop in zip(headers, starts, stops, strict=False):
            column = self._wanted.get(header)
            if column is not None:
                # A float has four bytes; the general way finds out what is wrong.
                if column.kind is FLOAT and np.count_nonzero(next_stop - start & 3):
                    break
                column.meet(rest.which)
                column.find(rest.which)
                column.add(_Lanes(rest.which, start, next_stop))
            stop = next_stop
        return None if stop is rest.starts else _Lanes(rest.which, stop, rest.stops).nonempty()

    def _short_entries(self, at: int, stop: int, most: int) -> tuple[list[bytes], Heads | None]:
        """Return the headers of the next entries of one Example, as far as they are short and new, and their heads."""
        data = self._wire.data
        headers: list[bytes] = []
        kind_tags = bytearray()
        while at + _HEAD_BYTES < stop and len(headers) < most:
            header = data[at + 2 : at + 5 + data[at + 3]]
            last = at + len(header) + _HEAD_BYTES - 1
            if last >= stop:
                break
            kind_tag, column = data[last - 3], self._wanted.get(header)
            is_new = column is None or (not column.is_met and kind_tag == column.kind.tag)
            if not is_new or header in headers or _short_head(header, kind_tag) is None:
                break
            headers.append(header)
            kind_tags.append(kind_tag)
            at = last + 1 + data[last]
        return headers, _join_heads(tuple(headers), bytes(kind_tags)) if headers else None

    def _keep(self, lanes: _Lanes, is_usual: np.ndarray) -> _Lanes:
        """Keep the lanes that are as usual; the others deviate."""
        if np.count_nonzero(is_usual) == len(is_usual):
            return lanes
        self.deviates[lanes.which[~is_usual]] = True
        return lanes.where(is_usual)

    def _whole(self, lanes: _Lanes, tag: int) -> _Lanes:
        """Return what is inside of a field that is all that there is."""
        starts, stops = self._wire.spans(lanes.starts + 1)
        is_usual = self._wire.has_tag(lanes.starts, tag) & (stops == lanes.stops)
        return self._keep(_Lanes(lanes.which, starts, stops), is_usual)

    def _next(self, lanes: _Lanes, tag: int) -> tuple[_Lanes, _Lanes]:
        """Return what is inside of the next field, and what comes behind it."""
        starts, stops = self._wire.spans(lanes.starts + 1)
        is_usual = self._wire.has_tag(lanes.starts, tag) & (stops <= lanes.stops)
        lanes = _Lanes(lanes.which, stops, lanes.stops)
        field = self._keep(_Lanes(lanes.which, starts, stops), is_usual)
        return field, lanes if len(field.which) == len(lanes.which) else lanes.where(is_usual)

    def _read(self, entries: _Lanes) -> None:
        """Read one entry of each Example, those of one name at a time."""
        for _ in range(_MOST_KEYS_AT_ONCE):
            if not len(entries.which):
                return
            header = self._header_at(int(entries.starts[0]))
            if header is None:
                entries = self._keep(entries, entries.which > entries.which[0])
                continue
            has_header = self._wire.has_text(entries.starts, header)
            self._read_feature(header, entries.where(has_header))
            entries = entries.where(~has_header)
        self.deviates[entries.which] = True

    def _header_at(self, start: int) -> bytes | None:
        """Return what an entry begins with, up to where its value does; None if it is not as usual."""
        data = self._wire.data
        stop = start + 3 + min(data[start + 1], _MOST_KEY_BYTES)
        is_usual = (
            data[start] == _FIRST_TAG and data[start + 1] <= _MOST_KEY_BYTES and data[stop - 1] == _SECOND_TAG
        )
        return data[start:stop] if is_usual else None

    def _read_feature(self, header: bytes, entries: _Lanes) -> None:
        """Read the feature in entries that begin alike."""
        starts, stops = self._wire.spans(entries.starts + len(header))
        bodies = self._keep(_Lanes(entries.which, starts, stops), stops == entries.stops)
        column = self._wanted.get(header)
        if column is None:
            return
        # A name that comes twice in a map: the last one counts for protobuf, so it is left to it.
        bodies = self._keep(bodies, ~column.has_met(bodies.which))
        column.meet(bodies.which)
        lists = self._whole(bodies.nonempty(), column.kind.tag)
        column.find(lists.which)
        self._read_list(lists.nonempty(), column)

    def _read_list(self, lists: _Lanes, column: _Column) -> None:
        if column.kind is not BYTES:
            numbers = self._whole(lists, _FIRST_TAG)
            if column.kind is FLOAT:
                # Packed floats whose size is no multiple of four bytes are damaged: protobuf reports them.
                numbers = self._keep(numbers, (numbers.stops - numbers.starts) & 3 == 0)
            column.add(numbers)
            return
        while len(lists.which):
            if len(lists.which) < _FEWEST_LANES:
                self.deviates[lists.which] = True
                return
            string, lists = self._next(lists, _FIRST_TAG)
            column.add(string)
            lists = lists.nonempty()


@functools.lru_cache(maxsize=4096)
def _short_head(header: bytes, kind_tag: int) -> FieldHead | None:
    """Return an entry up to the content of its only list, if that is so short that lengths have one byte."""
    size = len(header) + _HEAD_BYTES
    if size > _MOST_KEY_BYTES or (header[0], header[-1]) != (_FIRST_TAG, _SECOND_TAG):
        return None
    first = bytes([_FIRST_TAG, size - 2]) + header + bytes([4, kind_tag, 2, _FIRST_TAG, 0])
    # The four bytes that hold lengths, which change with the size of the list.
    return FieldHead.of(first, (1, size - 5, size - 3, size - 1))


@functools.lru_cache(maxsize=1024)
def _join_heads(headers: tuple[bytes, ...], kind_tags: bytes) -> Heads:
    """Return what several entries begin with that are one after another and short."""
    heads = (_short_head(header, kind_tag) for header, kind_tag in zip(headers, kind_tags, strict=True))
    return Heads.of([head for head in heads if head is not None])


def _set(flags: np.ndarray, which: np.ndarray) -> None:
    """Set some flags: all of them if they are as many."""
    flags[slice(None) if len(which) == len(flags) else which] = True


def _header(key: bytes) -> bytes:
    """Return what an entry with a name begins with."""
    # A longer key has a length of two bytes: this header then matches no entry, and protobuf reads it.
    return bytes([_FIRST_TAG, min(len(key), _MOST_KEY_BYTES + 1)]) + key + bytes([_SECOND_TAG])
