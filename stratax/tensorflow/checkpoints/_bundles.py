"""The arrays in the files of TensorFlow's checkpoints, read without TensorFlow (checkpoint layer).

There are two formats. Version 2 is a table `PREFIX.index`, which says for each array where its bytes stand in
`PREFIX.data-00000-of-00001`; those of objects have a description of the objects beside the arrays. Version 1, which
TensorFlow 1 wrote before 0.12 and on request, is a table with the values in it: a file `PREFIX`, or several
`PREFIX-00000-of-00002`. In both, an array may lie there in slices, which a partitioned variable was saved in.
"""

import dataclasses
import functools
import math
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stratax.data.records import compute_masked_crc
from stratax.io import TYPES_BY_NUMBER, VALUE_FIELDS, list_values, make_messages
from stratax.tensorflow.checkpoints import _tables
from stratax.tensorflow.checkpoints._tables import DamagedError

MESSAGES = make_messages(
    "stratax/checkpoint.proto",
    {
        "Dim": {"size": (1, "int64"), "name": (2, "string")},
        "TensorShapeProto": {"dim": (2, "repeated Dim"), "unknown_rank": (3, "bool")},
        "Extent": {"start": (1, "int64"), "length": (2, "oneof int64")},
        "TensorSliceProto": {"extent": (1, "repeated Extent")},
        "BundleHeaderProto": {"num_shards": (1, "int32"), "endianness": (2, "int32")},
        "BundleEntryProto": {
            "dtype": (1, "int32"),
            "shape": (2, "TensorShapeProto"),
            "shard_id": (3, "int32"),
            "offset": (4, "int64"),
            "size": (5, "int64"),
            "crc32c": (6, "fixed32"),
            "slices": (7, "repeated TensorSliceProto"),
        },
        "SavedSliceMeta": {
            "name": (1, "string"),
            "shape": (2, "TensorShapeProto"),
            "type": (3, "int32"),
            "slice": (4, "repeated TensorSliceProto"),
        },
        "SavedTensorSliceMeta": {"tensor": (1, "repeated SavedSliceMeta")},
        "Values": VALUE_FIELDS,
        "SavedSlice": {"name": (1, "string"), "slice": (2, "TensorSliceProto"), "data": (3, "Values")},
        "SavedTensorSlices": {"meta": (1, "SavedTensorSliceMeta"), "data": (2, "SavedSlice")},
        "ObjectReference": {"node_id": (1, "int32"), "local_name": (2, "string")},
        "SerializedTensor": {
            "name": (1, "string"),
            "full_name": (2, "string"),
            "checkpoint_key": (3, "string"),
        },
        "SlotVariableReference": {
            "original_variable_node_id": (1, "int32"),
            "slot_name": (2, "string"),
            "slot_variable_node_id": (3, "int32"),
        },
        "TrackableObject": {
            "children": (1, "repeated ObjectReference"),
            "attributes": (2, "repeated SerializedTensor"),
            "slot_variables": (3, "repeated SlotVariableReference"),
        },
        "TrackableObjectGraph": {"nodes": (1, "repeated TrackableObject")},
    },
)
# What an object-based checkpoint says of its objects, among them the variables' own names.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_STRING = np.dtype(object)
# A slice's start and length in each dimension; None is all of it.
Slice = tuple[tuple[int, int | None], ...]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """An array of a checkpoint.

    Attributes:
        kind: TensorFlow's number of its dtype.
        shape: Its shape.
        slices: The slices that it was saved in; none where it lies there whole.
    """

    kind: int
    shape: tuple[int, ...]
    slices: tuple[Slice, ...]

    @property
    def dtype(self) -> np.dtype:
        """Its dtype; that of objects where NumPy has none."""
        return TYPES_BY_NUMBER[self.kind].dtype if self.kind in TYPES_BY_NUMBER else _STRING


class BundleFiles:
    """The files of a checkpoint of version 2.

    Args:
        prefix: Its path.

    Attributes:
        entries: The arrays by key.

    Raises:
        DamagedError: If they are damaged.
        OSError: If one can't be read.
    """

    def __init__(self, prefix: pathlib.Path) -> None:
        self._prefix = prefix
        self._parts: dict[bytes, Any] = {}
        header = MESSAGES["BundleHeaderProto"]()
        for key, value in _tables.entries(prefix.with_name(f"{prefix.name}.index")):
            if key:
                self._parts[key] = _parse("BundleEntryProto", value)
            else:
                header = _parse("BundleHeaderProto", value)
        self._num_shards = header.num_shards
        self._is_big_endian = bool(header.endianness)
        # A key that begins with a zero byte is that of a slice.
        self.entries = {
            key.decode(): Entry(
                kind=part.dtype, shape=_shape(part.shape), slices=tuple(map(_slice, part.slices))
            )
            for key, part in self._parts.items()
            if not key.startswith(b"\0")
        }

    def read_parts(self) -> Iterator[tuple[bytes, Any, bytes]]:
        """Yield what the files have, as it lies there: keys, entries, and the bytes of each.

        Raises:
            DamagedError: If they are damaged, or of a machine of another order of bytes.
            OSError: If one can't be read.
        """
        if self._is_big_endian:
            raise DamagedError("it was written on a machine with the other order of bytes")
        for key, part in self._parts.items():
            name = f"{self._prefix.name}.data-{part.shard_id:05d}-of-{self._num_shards:05d}"
            with self._prefix.with_name(name).open("rb") as file:
                file.seek(part.offset)
                # What lies in slices has no bytes of its own.
                content = file.read(part.size)
            yield key, part, content

    def read(self, key: str) -> np.ndarray:
        """Return an array.

        Raises:
            DamagedError: If it is damaged.
            OSError: If its file can't be read.
        """
        entry = self.entries[key]
        if not entry.slices:
            return self._read(key.encode(), entry.dtype).reshape(entry.shape)
        values = ((each, self._slice(key, each, entry)) for each in entry.slices)
        return _join_slices(key, entry, values)

    def _slice(self, key: str, place: Slice, entry: Entry) -> np.ndarray:
        encoded = _slice_key(key, place)
        if encoded not in self._parts:
            raise DamagedError(f"a slice of {key} is not there")
        return self._read(encoded, entry.dtype)

    def _read(self, key: bytes, dtype: np.dtype) -> np.ndarray:
        part = self._parts[key]
        name = f"{self._prefix.name}.data-{part.shard_id:05d}-of-{self._num_shards:05d}"
        with self._prefix.with_name(name).open("rb") as file:
            file.seek(part.offset)
            content = file.read(part.size)
        shown_key = key.decode(errors="replace")
        if len(content) != part.size:
            raise DamagedError(f"{name} is cut off: {shown_key} should end at byte {part.offset + part.size}")
        size = math.prod(_shape(part.shape))
        if dtype == _STRING:
            return _strings(content, size, part.crc32c, shown_key)
        if compute_masked_crc(content) != part.crc32c:
            raise DamagedError(f"the checksum of {shown_key} in {name} is wrong")
        if len(content) != size * dtype.itemsize:
            raise DamagedError(f"{shown_key} has {len(content)} bytes instead of {size * dtype.itemsize}")
        # `astype` copies, too: `frombuffer` gives memory that can't be written to.
        order = dtype.newbyteorder(">" if self._is_big_endian else "<")
        return np.frombuffer(content, order).astype(dtype)


class SliceFiles:
    """The files of a checkpoint of version 1.

    Args:
        prefix: Its path.

    Attributes:
        entries: The arrays by key.

    Raises:
        DamagedError: If they are damaged.
        OSError: If one can't be read.
    """

    def __init__(self, prefix: pathlib.Path) -> None:
        self.entries: dict[str, Entry] = {}
        self._values: dict[str, list[tuple[Slice, bytes]]] = {}
        for path in version_1_files(prefix):
            has_names = False
            for key, value in _tables.entries(path):
                message = _parse("SavedTensorSlices", value)
                if not key:
                    has_names = message.HasField("meta")
                    for meta in message.meta.tensor:
                        self._add(meta)
                else:
                    saved = message.data
                    data = saved.data.SerializeToString()
                    self._values.setdefault(saved.name, []).append((_slice(saved.slice), data))
            if not has_names:
                raise DamagedError(f"{path.name} does not say which arrays it has")

    def _add(self, meta: Any) -> None:
        before = self.entries.get(meta.name)
        slices = tuple(map(_slice, meta.slice))
        # Each file has the slices that are in it.
        self.entries[meta.name] = Entry(
            kind=meta.type,
            shape=_shape(meta.shape),
            slices=slices if before is None else before.slices + slices,
        )

    def read(self, key: str) -> np.ndarray:
        """Return an array.

        Raises:
            DamagedError: If it is damaged.
        """
        entry = self.entries[key]
        values = (
            (place, _list(_parse("Values", data), entry.kind)) for place, data in self._values.get(key, ())
        )
        return _join_slices(key, entry, values)


Files = BundleFiles | SliceFiles


@dataclasses.dataclass(frozen=True, slots=True)
class BundleObject:
    """An object of an object-based checkpoint.

    Attributes:
        children: The objects that it has, by name: their numbers.
        attributes: What was saved of it: the attribute's name, the variable's own name, and the key.
        slots: What it keeps for variables, as an optimizer: the variable's number, the slot's name, its number.
    """

    children: dict[str, int]
    attributes: list[tuple[str, str, str]]
    slots: list[tuple[int, str, int]]


def nodes(files: Files) -> list[BundleObject]:
    """Return the objects of a checkpoint, the root first; none if it was saved by name.

    Raises:
        DamagedError: If the checkpoint is damaged.
    """
    if OBJECT_GRAPH not in files.entries:
        return []
    graph = _parse("TrackableObjectGraph", files.read(OBJECT_GRAPH).item())
    return [
        BundleObject(
            {child.local_name: child.node_id for child in node.children},
            [(each.name, each.full_name, each.checkpoint_key) for each in node.attributes],
            [
                (slot.original_variable_node_id, slot.slot_name, slot.slot_variable_node_id)
                for slot in node.slot_variables
            ],
        )
        for node in graph.nodes
    ]


def is_version_2(prefix: pathlib.Path) -> bool:
    """Return whether there is a checkpoint of version 2."""
    return prefix.with_name(f"{prefix.name}.index").is_file()


def version_1_files(prefix: pathlib.Path) -> list[pathlib.Path]:
    """Return the files of a checkpoint of version 1, none if there is no such checkpoint."""
    if prefix.is_file():
        # The index of version 2 is a table, too.
        return [prefix] if prefix.suffix != ".index" and _tables.is_table(prefix) else []
    # What `Saver(sharded=True).save` returns has question marks for the number.
    stem = re.sub(r"-\?{5}-of-\d{5}$", "", prefix.name)
    pattern = re.compile(rf"{re.escape(stem)}-\d{{5}}-of-(\d{{5}})")
    if not prefix.parent.is_dir():
        return []
    found = sorted(path for path in prefix.parent.iterdir() if pattern.fullmatch(path.name))
    return found if found and all(map(_tables.is_table, found)) else []


def _parse(kind: str, data: bytes) -> Any:
    try:
        return MESSAGES[kind].FromString(data)
    except DecodeError as error:
        raise DamagedError(f"what should be a {kind} is none: {error}") from error


def _shape(message: Any) -> tuple[int, ...]:
    shape = tuple(dim.size for dim in message.dim)
    if message.unknown_rank or any(size < 0 for size in shape):
        raise DamagedError(f"a shape {shape} is not known in full")
    return shape


def _slice(message: Any) -> Slice:
    return tuple(
        (extent.start, extent.length if extent.HasField("length") else None) for extent in message.extent
    )


def _join_slices(key: str, entry: Entry, values: Iterable[tuple[Slice, np.ndarray]]) -> np.ndarray:
    """Return an array that is there in slices."""
    made = np.empty(entry.shape, entry.dtype)
    count = 0
    for place, value in values:
        if len(place) != len(entry.shape):
            raise DamagedError(f"a slice of {key} has {len(place)} dimensions instead of {len(entry.shape)}")
        ranges = (slice(at, None if size is None else at + size) for at, size in place)
        # With an ellipsis it is a view also where there are no dimensions.
        part = made[(*ranges, ...)]
        if part.size != value.size:
            raise DamagedError(f"a slice of {key} has {value.size} elements instead of {part.size}")
        part[...] = value.reshape(part.shape)
        count += value.size
    if count != made.size:
        raise DamagedError(f"the slices of {key} have {count} elements of {made.size}")
    return made


def _strings(content: bytes, count: int, crc: int, key: str) -> np.ndarray:
    """Return byte strings: their lengths stand in front of them, with a checksum."""
    lengths, position = [], 0
    for _ in range(count):
        length, position = _tables.varint(content, position)
        lengths.append(length)
    # Of the lengths as numbers of 4 bytes, or of 8 where they need them.
    numbers = b"".join(length.to_bytes(4 if length < 1 << 32 else 8, "little") for length in lengths)
    checksum = content[position : position + 4]
    if compute_masked_crc(numbers) != int.from_bytes(checksum, "little"):
        raise DamagedError(f"the checksum of the lengths of {key} is wrong")
    text = content[position + 4 :]
    if sum(lengths) != len(text) or compute_masked_crc(numbers + checksum + text) != crc:
        raise DamagedError(f"the checksum of {key} is wrong")
    made, position = np.empty(count, object), 0
    for index, length in enumerate(lengths):
        made[index] = text[position : position + length]
        position += length
    return made


def _list(message: object, number: int) -> np.ndarray:
    if number not in TYPES_BY_NUMBER:
        raise DamagedError(f"a dtype has the number {number}, which is none of {sorted(TYPES_BY_NUMBER)}")
    return list_values(message, TYPES_BY_NUMBER[number])


def _slice_key(name: str, place: Slice) -> bytes:
    """Return the key of a slice, in an encoding whose order as bytes is that of names and numbers."""
    text = name.encode().replace(b"\xff", b"\xff\x00").replace(b"\0", b"\0\xff")
    numbers = (number for start, length in place for number in (start, -1 if length is None else length))
    return b"".join(
        [_encode_unsigned(0), text, b"\0\x01", _encode_unsigned(len(place)), *map(_encode_signed, numbers)]
    )


def _encode_unsigned(number: int) -> bytes:
    # How many bytes, and the bytes.
    size = -(-number.bit_length() // 8)
    return bytes([size]) + number.to_bytes(size, "big")


@functools.cache
def _encode_signed(number: int) -> bytes:
    # As many bytes as groups of seven bits, of which the leading ones say how many, flipped for a negative number.
    size = (number if number >= 0 else ~number).bit_length() // 7 + 1
    bits = number & ((1 << 8 * size) - 1)
    return (bits ^ (((1 << size) - 1) << (7 * size))).to_bytes(size, "big")
