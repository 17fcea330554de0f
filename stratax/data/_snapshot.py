"""Folders of written elements, whole or not there at all: what `save` and `cache(filename)` write (data layer).

A folder has one file that says what lies in it, `dataset_spec.json`, and beside it a folder for each writing with
TFRecord files of elements and an index of each. The one file is put there last, in one step. A writing that was
interrupted leaves files that nobody reads, and two at a time do not meet.
"""

import array
import contextlib
import dataclasses
import io
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stratax.data._element_codec import encode_columns
from stratax.data._files import as_compression, local_path
from stratax.data._spec import DatasetSpec, TensorSpec
from stratax.data._spec_json import spec_from_json, spec_to_json
from stratax.data._structure import flatten, unflatten
from stratax.data._tfrecord_reader import FOOTER_BYTES, HEADER_BYTES
from stratax.data._tfrecord_writer import TFRecordOptions, TFRecordWriter
from stratax.data._whole_files import join, make_folder, read_file, remove_folder, size_of, write_file
from stratax.errors import DataError, DataLossError, FileMissingError

SPEC_FILE = "dataset_spec.json"
_FORMAT = "stratax-elements"
_VERSION = 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One file of elements.

    Attributes:
        file: Its path or URL.
        index: The file of its index: for each element, by its position, offset, length and number of its shapes.
        count: How many elements it has.
        size: How many bytes.
    """

    file: str
    index: str
    count: int
    size: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What lies in a folder.

    Attributes:
        path: The folder.
        run: The name of the writing, which no other has.
        spec: Structure of the specs of the elements.
        compression: "", "GZIP" or "ZLIB".
        shards: The files.
        key: The seeds of the orders in which the elements were made; None for one that was not needed.
    """

    path: str
    run: str
    spec: Any
    compression: str
    shards: tuple[Shard, ...]
    key: tuple[int | None, ...]

    @property
    def count(self) -> int:
        """How many elements there are."""
        return sum(shard.count for shard in self.shards)

    @property
    def is_local(self) -> bool:
        """Whether the files lie on this machine."""
        return local_path(self.path) is not None


def read_snapshot(path: str) -> Snapshot | None:
    """What lies in a folder; None if nothing was written there, or not to its end.

    Raises:
        DataLossError: The file that says so is damaged, or files of elements are not what it says.
    """
    name = join(path, SPEC_FILE)
    try:
        content = read_file(name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return _checked(_parsed(path, json.loads(content)))
    except (KeyError, TypeError, ValueError) as e:
        raise DataLossError(
            f"The description of saved elements is damaged: {e}. Expected: what Dataset.save or cache writes. "
            f"Received: file={name!r}. Write the folder again.",
            filename=name,
        ) from e


def _parsed(path: str, value: dict[str, Any]) -> Snapshot:
    if value["format"] != _FORMAT or value["version"] != _VERSION:
        raise ValueError(f"format {value['format']!r} of version {value['version']!r}")
    run = value["run"]
    shards = (
        Shard(
            file=join(path, run, shard["file"]),
            index=join(path, run, shard["index"]),
            count=shard["count"],
            size=shard["size"],
        )
        for shard in value["shards"]
    )
    return Snapshot(
        path=path,
        run=run,
        spec=spec_from_json(value["spec"]),
        compression=as_compression(value["compression"]),
        shards=tuple(shards),
        key=tuple(value["key"]),
    )


def _checked(snapshot: Snapshot) -> Snapshot:
    for shard in snapshot.shards if snapshot.is_local else ():
        path = str(local_path(shard.file))
        try:
            size = os.stat(path).st_size
        except FileNotFoundError as e:
            raise FileMissingError(
                f"A file of saved elements is not there. Received: file={shard.file!r}. Write the folder again."
            ) from e
        if size != shard.size:
            raise DataLossError(
                f"A file of saved elements has another size than when it was written. Expected: {shard.size} bytes. "
                f"Received: {size} bytes in file={shard.file!r}. Write the folder again.",
                filename=shard.file,
            )
    return snapshot


class _ShardWriter:
    """Writes one file of elements and its index."""

    def __init__(self, folder: str, number: int, compression: str) -> None:
        self.name = f"shard-{number:05d}.tfrecord"
        self.index_name = f"shard-{number:05d}.index"
        self._folder = folder
        self._writer = TFRecordWriter(join(folder, self.name), TFRecordOptions(compression))
        self._entries = array.array("q")
        self._offset = 0

    @property
    def count(self) -> int:
        return len(self._entries) // 4

    def write(self, record: bytes, shapes: int, position: int) -> None:
        self._writer.write(record)
        self._entries.extend((position, self._offset, len(record), shapes))
        self._offset += HEADER_BYTES + len(record) + FOOTER_BYTES

    def finish(self) -> dict[str, Any]:
        """Closes the files; what stands of them in the description."""
        self._writer.close()
        table = np.frombuffer(self._entries, np.int64).reshape(-1, 4)
        table = table[np.argsort(table[:, 0], kind="stable"), 1:]
        content = io.BytesIO()
        np.save(content, table, allow_pickle=False)
        write_file(join(self._folder, self.index_name), content.getvalue())
        size = size_of(join(self._folder, self.name))
        return {"file": self.name, "index": self.index_name, "count": self.count, "size": size}

    def abandon(self) -> None:
        """Closes the writer so that it leaves no file."""
        with contextlib.suppress(OSError):
            self._writer.__exit__(KeyboardInterrupt, None, None)


class SnapshotWriter:
    """Writes elements into a folder; nothing counts before :meth:`commit`.

    Args:
        path: The folder; it is made if it is not there.
        spec: Structure of the specs of the elements; widened where their sizes differ.
        compression: "", "GZIP" or "ZLIB".
    """

    def __init__(self, path: str, spec: Any, compression: str = "") -> None:
        self._path = path
        self._specs, self._structure = flatten(spec)
        spec_to_json(spec)
        self._compression = compression
        self._run = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._folder = join(path, self._run)
        self._shards: dict[int, _ShardWriter] = {}
        self._shapes: dict[bytes, int] = {}
        self._is_open = True
        make_folder(self._folder)

    def write(
        self, columns: Sequence[np.ndarray], count: int, shards: Sequence[int], positions: Sequence[int]
    ) -> None:
        """Appends elements of one shape.

        Args:
            columns: Their components, [count, ...] each.
            count: How many.
            shards: The number of the file of each.
            positions: The place of each within its file, when it is read.
        """
        self._specs = [
            spec if isinstance(spec, DatasetSpec) else _widened(spec, column)
            for spec, column in zip(self._specs, columns, strict=True)
        ]
        header, records = encode_columns(columns, count)
        shapes = self._shapes.setdefault(header, len(self._shapes))
        for record, shard, position in zip(records, shards, positions, strict=True):
            self._shard(int(shard)).write(record, shapes, int(position))

    def _shard(self, number: int) -> _ShardWriter:
        if number not in self._shards:
            self._shards[number] = _ShardWriter(self._folder, number, self._compression)
        return self._shards[number]

    def commit(self, replace: bool, key: Sequence[int | None] = ()) -> Snapshot:
        """Makes what was written the content of the folder.

        Args:
            replace: Whether it takes the place of a content that is there; else that one stays and this is dropped.
            key: The seeds of the orders in which the elements were made; None for one that was not needed.

        Returns:
            The content of the folder.
        """
        self._is_open = False
        shards = [self._shards[number].finish() for number in sorted(self._shards)]
        description = {
            "format": _FORMAT,
            "version": _VERSION,
            "run": self._run,
            "compression": self._compression,
            "key": list(key),
            "spec": spec_to_json(unflatten(self._structure, self._specs)),
            "shards": shards,
        }
        before = read_run(self._path) if replace else None
        name = join(self._path, SPEC_FILE)
        if not write_file(name, json.dumps(description, indent=1).encode(), replace):
            remove_folder(self._folder)
        elif before is not None:
            remove_folder(join(self._path, before))
        found = read_snapshot(self._path)
        if found is None:
            raise FileMissingError(
                f"Saved elements vanished while they were written. Received: path={self._path!r}. "
                "Let no other process remove the folder."
            )
        return found

    def abandon(self) -> None:
        """Removes what was written, if it was not committed."""
        if self._is_open:
            self._is_open = False
            for shard in self._shards.values():
                shard.abandon()
            remove_folder(self._folder)


def _widened(spec: TensorSpec, column: np.ndarray) -> TensorSpec:
    have = TensorSpec(column.shape[1:], column.dtype)
    if spec.dtype != have.dtype:
        raise DataError(
            f"Elements that are written need the dtype of their spec. Expected: {spec!r}. Received: {have!r}. "
            "Cast them in a map."
        )
    if spec.shape is None or spec.is_compatible_with(have):
        return spec
    return spec.merged(have)


def read_run(path: str) -> str | None:
    """The name of the writing that a folder has as its content, however damaged it is."""
    try:
        return str(json.loads(read_file(join(path, SPEC_FILE)))["run"])
    except (OSError, KeyError, TypeError, ValueError):
        return None


def read_index(shard: Shard) -> np.ndarray:
    """Offset, length and number of the shapes of each element of a file, int64 [count, 3].

    Raises:
        DataLossError: The index is damaged.
    """
    try:
        table = np.load(io.BytesIO(read_file(shard.index)), allow_pickle=False)
    except (OSError, ValueError, EOFError) as e:
        raise _bad_index(shard, str(e)) from e
    if table.shape != (shard.count, 3) or table.dtype != np.int64:
        raise _bad_index(shard, f"it has shape {table.shape} and dtype {table.dtype}")
    ends = table[:, 0] + table[:, 1] + (HEADER_BYTES + FOOTER_BYTES)
    if table.size and (table.min() < 0 or ends.max() > shard.size):
        raise _bad_index(shard, "it points outside of the file")
    return np.asarray(table)


def _bad_index(shard: Shard, what: str) -> DataLossError:
    return DataLossError(
        f"The index of a file of saved elements is damaged: {what}. Expected: {shard.count} entries. "
        f"Received: file={shard.index!r}. Write the folder again.",
        filename=shard.index,
    )


def positions_of(shards: Sequence[int], counts: dict[int, int]) -> Iterator[int]:
    """The places of elements that are appended to files, one after another."""
    for shard in shards:
        counts[shard] = counts.get(shard, 0) + 1
        yield counts[shard] - 1
