"""Folders of written elements, whole or not there at all: what `save` and `cache(filename)` write (data layer).

A folder has one file that says what lies in it, `dataset_spec.json`, and beside it a folder for each writing with
TFRecord files of elements and an index of each. The one file is put there last, in one step.
"""

import dataclasses
import io
import re
from collections.abc import Callable
from typing import Any, TypeVar

import crc32c
import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import spec_from_json
from stratax.data.records import FRAME_BYTES
from stratax.errors import DataLossError, FileMissingError
from stratax.io import as_compression, join, local_path, read_file, size_of, unseal_text

SPEC_FILE = "dataset_spec.json"
FORMAT = "stratax-elements"
# Raised when an older reader would misread the folder.
VERSION = 2
_Parsed = TypeVar("_Parsed")
# What a writing calls itself (host, process, a random number) and its files: no path leads out of the folder.
_RUN_NAME = re.compile(r"[\w.-]+-\d+-[0-9a-f]{32}", re.ASCII)
_FILE_NAME = re.compile(r"shard-\d+\.(tfrecord|index)", re.ASCII)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardFile:
    """One file of elements.

    Attributes:
        file: Its path or URL.
        index: The file of its index: for each element, by its position, offset, length and number of its shapes.
        index_crc32c: The checksum of the index; in it, one changed bit may be enough to name another element.
        count: How many elements it has.
        size: How many bytes.
    """

    file: str
    index: str
    index_crc32c: int
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
    shards: tuple[ShardFile, ...]
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
    """Return what lies in a folder; None if nothing was written there, or not to its end.

    Raises:
        DataLossError: The file that says so is damaged, or files of elements are not what it says.
    """
    snapshot = _read(path, _parse)
    if snapshot is not None:
        _check_sizes(snapshot)
    return snapshot


def read_run(path: str) -> str | None:
    """Return the name of the writing that a folder has as its content; None if it has none.

    Raises:
        DataLossError: The file that says so is damaged.
    """
    return _read(path, lambda path, value: _check_name(_RUN_NAME, value["run"]))


def _read(path: str, parse: Callable[[str, dict[str, Any]], _Parsed]) -> _Parsed | None:
    name = join(path, SPEC_FILE)
    try:
        content = read_file(name)
    except FileMissingError:
        return None
    try:
        return parse(path, unseal_text(content, format=FORMAT, version=VERSION))
    except (KeyError, TypeError, ValueError) as e:
        raise DataLossError(
            f"The description of saved elements is damaged: {e}. Expected: what Dataset.save or cache writes. "
            f"Received: file={shown(name)}. Write the folder again.",
            filename=name,
        ) from e


def _parse(path: str, value: dict[str, Any]) -> Snapshot:
    run = _check_name(_RUN_NAME, value["run"])
    shards = (
        ShardFile(
            file=join(path, run, _check_name(_FILE_NAME, shard["file"])),
            index=join(path, run, _check_name(_FILE_NAME, shard["index"])),
            index_crc32c=_count(shard["index_crc32c"]),
            count=_count(shard["count"]),
            size=_count(shard["size"]),
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


def is_run(name: str) -> bool:
    """Return whether a writing may have this name."""
    return _RUN_NAME.fullmatch(name) is not None


def _check_name(pattern: re.Pattern[str], name: str) -> str:
    """Return a name out of a description, which nobody else has made."""
    # A name out of a file must not lead out of the folder.
    if not pattern.fullmatch(name):
        raise ValueError(f"name {shown(name)}")
    return name


def _count(value: int) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"count {shown(value)}")
    return value


def _check_sizes(snapshot: Snapshot) -> None:
    for shard in snapshot.shards if snapshot.is_local else ():
        try:
            size = size_of(shard.file)
        except FileMissingError as e:
            raise missing_shard(shard) from e
        # The cheap check at once; checksums are compared when records are read.
        if size != shard.size:
            raise DataLossError(
                f"A file of saved elements has another size than when it was written. Expected: {shard.size} bytes. "
                f"Received: {size} bytes in file={shown(shard.file)}. Write the folder again.",
                filename=shard.file,
            )


def missing_shard(shard: ShardFile) -> FileMissingError:
    """Return the error for a file of elements that is not there."""
    return FileMissingError(
        f"A file of saved elements is not there. Received: file={shown(shard.file)}. Write the folder again.",
        filename=shard.file,
    )


def read_index(shard: ShardFile) -> np.ndarray:
    """Return offset, length and number of the shapes of each element of a file, int64 [count, 3].

    Raises:
        DataLossError: The index is damaged.
    """
    content = read_file(shard.index)
    if crc32c.crc32c(content) != shard.index_crc32c:
        raise _bad_index(shard, "its checksum is wrong")
    try:
        # Never pickle: loading it could run code.
        table = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError) as e:
        raise _bad_index(shard, str(e)) from e
    if table.shape != (shard.count, 3) or table.dtype != np.int64:
        raise _bad_index(shard, f"it has shape {table.shape} and dtype {table.dtype}")
    ends = table[:, 0] + table[:, 1] + FRAME_BYTES
    if table.size and (table.min() < 0 or ends.max() > shard.size):
        raise _bad_index(shard, "it points outside of the file")
    return np.asarray(table)


def _bad_index(shard: ShardFile, what: str) -> DataLossError:
    return DataLossError(
        f"The index of a file of saved elements is damaged: {what}. Expected: {shard.count} entries. "
        f"Received: file={shown(shard.index)}. Write the folder again.",
        filename=shard.index,
    )
