"""Writing a folder of elements, whole or not at all: what `save` and `cache(filename)` do (data layer).

A writing that was interrupted leaves files that nobody reads and that the next one removes; two at a time do not meet.
"""

import array
import contextlib
import functools
import io
from collections.abc import Iterator, Sequence
from typing import Any

import crc32c
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    CompositeSpec,
    DatasetSpec,
    TensorSpec,
    box,
    encode_columns,
    flatten,
    spec_to_json,
    unflatten,
)
from stratax.data.records import FRAME_BYTES, TFRecordOptions, TFRecordWriter
from stratax.data.snapshots._run_folder import RunFolder
from stratax.data.snapshots._snapshot import FORMAT, SPEC_FILE, VERSION, Snapshot, read_run, read_snapshot
from stratax.errors import DataError, DataLossError, FileMissingError
from stratax.io import join, remove_folder, seal_text, size_of, write_file


class _ShardWriter:
    """Writes one file of elements and its index."""

    def __init__(self, folder: str, number: int, compression: str) -> None:
        self.name = f"shard-{number:05d}.tfrecord"
        self.index_name = f"shard-{number:05d}.index"
        self._folder = folder
        self._writer = TFRecordWriter(join(folder, self.name), TFRecordOptions(compression))
        # 32 bytes an element; Python's lists take several times as much.
        self._entries = array.array("q")
        self._offset = 0

    @property
    def count(self) -> int:
        return len(self._entries) // 4

    def write(self, record: bytes, shapes: int, position: int) -> None:
        self._writer.write(record)
        self._entries.extend((position, self._offset, len(record), shapes))
        self._offset += len(record) + FRAME_BYTES

    def finish(self) -> dict[str, Any]:
        """Close the files; what stands of them in the description."""
        self._writer.close()
        table = np.frombuffer(self._entries, np.int64).reshape(-1, 4)
        # Elements may be written in another order than that of their positions.
        table = table[np.argsort(table[:, 0], kind="stable"), 1:]
        content = io.BytesIO()
        np.save(content, table, allow_pickle=False)
        write_file(join(self._folder, self.index_name), content.getvalue())
        size = size_of(join(self._folder, self.name))
        return {
            "file": self.name,
            "index": self.index_name,
            "index_crc32c": crc32c.crc32c(content.getvalue()),
            "count": self.count,
            "size": size,
        }

    def abandon(self) -> None:
        """Close the writer so that it leaves no file."""
        # As if its block had been interrupted: the writer removes its file.
        self._writer.__exit__(KeyboardInterrupt, None, None)


class SnapshotWriter:
    """Writes elements into a folder; nothing counts before :meth:`commit`.

    Args:
        path: The folder; it is made if it is not there.
        spec: Structure of the specs of the elements; widened where their sizes differ.
        compression: "", "GZIP" or "ZLIB".
    """

    def __init__(self, path: str, spec: PyTree, compression: str = "") -> None:
        self._path = path
        self._specs, self._structure = flatten(spec)
        # Raises now what could not be written in the end.
        spec_to_json(spec)
        self._compression = compression
        self._claim = RunFolder(path)
        self._folder = join(path, self._claim.run)
        self._shards: dict[int, _ShardWriter] = {}
        self._shapes: dict[bytes, int] = {}
        self._is_open = True

    def write(
        self, columns: Sequence[np.ndarray], count: int, shards: Sequence[int], positions: Sequence[int]
    ) -> None:
        """Append elements of one shape.

        Args:
            columns: Their components, [count, ...] each.
            count: How many.
            shards: The number of the file of each.
            positions: The place of each within its file, when it is read.
        """
        self._specs = [
            spec if isinstance(spec, DatasetSpec) else _widen(spec, column)
            for spec, column in zip(self._specs, columns, strict=True)
        ]
        header, records = encode_columns(box(columns), count)
        shapes = self._shapes.setdefault(header, len(self._shapes))
        for record, shard, position in zip(records, shards, positions, strict=True):
            self._shard(int(shard)).write(record, shapes, int(position))

    def _shard(self, number: int) -> _ShardWriter:
        if number not in self._shards:
            self._shards[number] = _ShardWriter(self._folder, number, self._compression)
        return self._shards[number]

    def commit(self, key: Sequence[int | None] = (), *, replace: bool) -> Snapshot:
        """Make what was written the content of the folder.

        Args:
            replace: Whether it takes the place of a content that is there; else that one stays and this is dropped.
            key: The seeds of the orders in which the elements were made; None for one that was not needed.

        Returns:
            The content of the folder.
        """
        shards = [self._shards[number].finish() for number in sorted(self._shards)]
        description = {
            "format": FORMAT,
            "version": VERSION,
            "run": self._claim.run,
            "compression": self._compression,
            "key": list(key),
            "spec": spec_to_json(unflatten(self._structure, self._specs)),
            "shards": shards,
        }
        # Read before the new description replaces it.
        before = self._content() if replace else None
        is_content = write_file(join(self._path, SPEC_FILE), seal_text(description), replace=replace)
        self._is_open = False
        # Another process has written first; its elements count.
        if not is_content:
            remove_folder(self._folder)
        elif before is not None:
            remove_folder(join(self._path, before))
        self._claim.release()
        found = read_snapshot(self._path)
        if found is None:
            raise FileMissingError(
                f"Saved elements vanished while they were written. Received: path={shown(self._path)}. "
                "Let no other process remove the folder.",
                filename=self._path,
            )
        return found

    def _content(self) -> str | None:
        with contextlib.suppress(DataLossError):
            return read_run(self._path)
        return None

    def abandon(self) -> None:
        """Remove what was written, if it was not committed."""
        if self._is_open:
            self._is_open = False
            for shard in self._shards.values():
                shard.abandon()
            remove_folder(self._folder)
            self._claim.release()


def _widen(spec: Any, column: np.ndarray) -> Any:
    if isinstance(spec, CompositeSpec):
        return functools.reduce(CompositeSpec.merged, [spec.of(value) or spec for value in column], spec)
    have = TensorSpec(column.shape[1:], column.dtype)
    if spec.dtype != have.dtype:
        raise DataError(
            f"Elements that are written need the dtype of their spec. Expected: {shown(spec)}. Received: "
            f"{shown(have)}. "
            "Cast them in a map."
        )
    if spec.shape is None or spec.is_compatible_with(have):
        return spec
    return spec.merged(have)


def positions_of(shards: Sequence[int], counts: dict[int, int]) -> Iterator[int]:
    """Return the places of elements that are appended to files, one after another."""
    for shard in shards:
        counts[shard] = counts.get(shard, 0) + 1
        yield counts[shard] - 1
