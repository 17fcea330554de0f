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

from stratax.data._features import BYTES, FLOAT, INT64, Kind, ParsedFeature, Ragged
from stratax.data._wire import Head, Wire

_FIRST_TAG = 0x0A
_SECOND_TAG = 0x12
_KIND_TAGS = {BYTES: 0x0A, FLOAT: 0x12, INT64: 0x1A}
_FEWEST_LANES = 4
_HEAD_BYTES = 7
_MOST_KEYS_AT_ONCE = 16
_MOST_KEY_BYTES = 127


class _Lanes(NamedTuple):
    """Some of the Examples, and a part of each: their indices in the batch, where the part begins and where it ends."""

    which: np.ndarray
    starts: np.ndarray
    stops: np.ndarray

    def where(self, chosen: np.ndarray) -> "_Lanes":
        """Those for which `chosen` is True."""
        if np.count_nonzero(chosen) == len(chosen):
            return self
        return _Lanes(self.which[chosen], self.starts[chosen], self.stops[chosen])

    def nonempty(self) -> "_Lanes":
        """Those whose part has any bytes."""
        return self.where(self.starts < self.stops)


def parse_columns(
    records: Sequence[bytes], features: Mapping[str, ParsedFeature]
) -> tuple[dict[str, Ragged], np.ndarray] | None:
    """The values of some features in those Examples of a batch that are written in the usual way.

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
        ragged = column.ragged(understood)
        if ragged is None:
            return None
        found[key] = ragged
    return found, understood


class _Column:
    """Where the values of one feature are.

    Attributes:
        kind: The kind of values.
        met: Which Examples have the feature, perhaps without values of any kind.
        is_there: Which have values of the kind, perhaps none.
    """

    def __init__(self, wire: Wire, kind: Kind, num_examples: int) -> None:
        self.kind = kind
        self.met = np.zeros(num_examples, bool)
        self.is_there = np.zeros(num_examples, bool)
        self._wire = wire
        self._parts: list[_Lanes] = []

    def add(self, part: _Lanes) -> None:
        """Adds a list of numbers, or the next byte string, of some Examples."""
        if len(part.which):
            self._parts.append(part)

    def ragged(self, understood: np.ndarray) -> Ragged | None:
        """The values in the Examples that were understood; None if numbers are damaged."""
        which, starts, stops = self._in_order(understood)
        counts = np.zeros(len(understood), np.int64)
        if self.kind is BYTES:
            values = self._wire.strings(starts, stops)
            counts += np.bincount(which, minlength=len(understood))
        elif self.kind is FLOAT:
            counts[which] = sizes = (stops - starts) >> 2
            values = self._wire.floats(starts, sizes)
        else:
            numbers = self._wire.varints(starts, stops)
            if numbers is None:
                return None
            values, counts[which] = numbers
        return Ragged(values, counts[understood], ~self.is_there[understood])

    def _in_order(self, understood: np.ndarray) -> _Lanes:
        """All parts, by Example."""
        if not self._parts:
            none = np.zeros(0, np.int64)
            return _Lanes(none, none, none)
        parts = self._parts[0]
        if len(self._parts) > 1:
            parts = _Lanes(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
            order = np.argsort(parts.which, kind="stable")
            parts = _Lanes(*(column[order] for column in parts))
        return parts.where(understood[parts.which])


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
        self._wanted = {_header(key.encode()): column for key, column in self.columns.items()}

    def run(self) -> None:
        """Goes from entry to entry of the map of features."""
        wire = self._wire
        examples = _Lanes(np.arange(len(wire.starts)), wire.starts, wire.stops).nonempty()
        rest = self._whole(examples, _FIRST_TAG).nonempty()
        while len(rest.which):
            if len(rest.which) < _FEWEST_LANES:
                self.deviates[rest.which] = True
                return
            rest = self._step_alike(rest) or self._step(rest)

    def _step(self, rest: _Lanes) -> _Lanes:
        """Reads the next entry of each Example; what comes behind it."""
        entries, rest = self._next(rest, _FIRST_TAG)
        self._read(entries)
        return rest.where((rest.starts < rest.stops) & ~self.deviates[rest.which])

    def _step_alike(self, rest: _Lanes) -> _Lanes | None:
        """The same with half as many operations, if entries differ in the bytes of one list only and are short.

        Returns:
            None, with nothing read, if they are not so.
        """
        start, data = int(rest.starts[0]), self._wire.data
        header = data[start + 2 : start + 5 + data[start + 3]]
        kind_tag = data[start + 6 + data[start + 3]]
        head = _short_head(header, kind_tag)
        last = None if head is None else self._wire.last_bytes(rest.starts, head)
        if head is None or last is None:
            return None
        starts = rest.starts + head.size
        stops = starts + last
        num_inside, column = np.count_nonzero(stops < rest.stops), self._wanted.get(header)
        if num_inside < len(stops) and (stops > rest.stops).any():
            return None
        if column is not None and not self._put_alike(column, kind_tag, _Lanes(rest.which, starts, stops)):
            return None
        rest = _Lanes(rest.which, stops, rest.stops)
        return rest if num_inside == len(stops) else rest.nonempty()

    def _put_alike(self, column: _Column, kind_tag: int, parts: _Lanes) -> bool:
        """Adds a list of each Example; False if not all can have it."""
        is_cut = column.kind is FLOAT and np.count_nonzero((parts.stops - parts.starts) & 3)
        if kind_tag != _KIND_TAGS[column.kind] or is_cut or np.count_nonzero(column.met[parts.which]):
            return False
        column.met[parts.which] = True
        column.is_there[parts.which] = True
        column.add(parts)
        return True

    def _keep(self, lanes: _Lanes, is_usual: np.ndarray) -> _Lanes:
        """Those that are as usual; the others deviate."""
        if np.count_nonzero(is_usual) == len(is_usual):
            return lanes
        self.deviates[lanes.which[~is_usual]] = True
        return lanes.where(is_usual)

    def _whole(self, lanes: _Lanes, tag: int) -> _Lanes:
        """What is inside of a field that is all that there is."""
        starts, stops = self._wire.spans(lanes.starts + 1)
        is_usual = self._wire.has_tag(lanes.starts, tag) & (stops == lanes.stops)
        return self._keep(_Lanes(lanes.which, starts, stops), is_usual)

    def _next(self, lanes: _Lanes, tag: int) -> tuple[_Lanes, _Lanes]:
        """What is inside of the next field, and what comes behind it."""
        starts, stops = self._wire.spans(lanes.starts + 1)
        is_usual = self._wire.has_tag(lanes.starts, tag) & (stops <= lanes.stops)
        lanes = _Lanes(lanes.which, stops, lanes.stops)
        field = self._keep(_Lanes(lanes.which, starts, stops), is_usual)
        return field, lanes if len(field.which) == len(lanes.which) else lanes.where(is_usual)

    def _read(self, entries: _Lanes) -> None:
        """Reads one entry of each Example, those of one name at a time."""
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
        """What an entry begins with, up to where its value does; None if it is not as usual."""
        data = self._wire.data
        stop = start + 3 + min(data[start + 1], _MOST_KEY_BYTES)
        is_usual = (
            data[start] == _FIRST_TAG and data[start + 1] <= _MOST_KEY_BYTES and data[stop - 1] == _SECOND_TAG
        )
        return data[start:stop] if is_usual else None

    def _read_feature(self, header: bytes, entries: _Lanes) -> None:
        """Reads the feature in entries that begin alike."""
        starts, stops = self._wire.spans(entries.starts + len(header))
        bodies = self._keep(_Lanes(entries.which, starts, stops), stops == entries.stops)
        column = self._wanted.get(header)
        if column is None:
            return
        bodies = self._keep(bodies, ~column.met[bodies.which])
        column.met[bodies.which] = True
        lists = self._whole(bodies.nonempty(), _KIND_TAGS[column.kind])
        column.is_there[lists.which] = True
        self._read_list(lists.nonempty(), column)

    def _read_list(self, lists: _Lanes, column: _Column) -> None:
        if column.kind is not BYTES:
            numbers = self._whole(lists, _FIRST_TAG)
            if column.kind is FLOAT:
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
def _short_head(header: bytes, kind_tag: int) -> Head | None:
    """What an entry consists of up to the content of its only list, if that is so short that lengths have one byte."""
    size = len(header) + _HEAD_BYTES
    if size > _MOST_KEY_BYTES or (header[0], header[-1]) != (_FIRST_TAG, _SECOND_TAG):
        return None
    first = bytes([_FIRST_TAG, size - 2]) + header + bytes([4, kind_tag, 2, _FIRST_TAG, 0])
    return Head.of(first, (1, size - 5, size - 3, size - 1))


def _header(key: bytes) -> bytes:
    """What an entry with a name begins with."""
    return bytes([_FIRST_TAG, min(len(key), _MOST_KEY_BYTES + 1)]) + key + bytes([_SECOND_TAG])
