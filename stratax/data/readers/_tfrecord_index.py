"""Where the records of TFRecord files begin, so that any of them can be read at once (data layer).

The index of a file is kept beside it, in a hidden file, where the folder can be written to.
"""

import contextlib
import copy
import os
from functools import cached_property

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import INFINITE_CARDINALITY, Block, Columns, TensorSpec
from stratax.data.plan import Node, Passes, PlanRun
from stratax.data.records import (
    FOOTER_BYTES,
    FRAME_BYTES,
    HEADER_BYTES,
    BadRecordError,
    Origins,
    TFRecordFormat,
    length_of,
    read_records,
    too_large,
)
from stratax.data.sources import NamedFiles
from stratax.errors import BadArgumentError, DataLossError
from stratax.io import as_file_name, local_path, new_file, open_bytes, reading

INDEX_SUFFIX = ".stratax-index"
_MAGIC = 0x5354_5241_5441_5801
_FACTS = 3
_WINDOW = 1 << 20
_GLANCE = 1 << 12
_MAX_KNOWN_HEADERS = 1 << 14
_LEAST_RUN = 8
_OTHER_FILE = "The file is another one than when its records were counted"
_BAD_DATA = "The data of a record is damaged (its CRC-32C differs)"


class IndexedRecords(NamedFiles):
    """The records of TFRecord files of this machine, any of them at any time.

    The files stand in the order in which the names come in the first iteration.

    Args:
        names: A node that gives the names.
        form: How to read a file; without compression.
    """

    label = "TFRecord"
    is_indexable = True
    is_uniform = True
    batch_size = None

    def __init__(self, names: Node, form: TFRecordFormat) -> None:
        self.children = (names,)
        self._form = form

    def with_names(self, names: Node) -> "IndexedRecords":
        return IndexedRecords(names, self._form)

    @property
    def spec(self) -> TensorSpec:
        """Describe an element: a string of bytes."""
        return TensorSpec((), object)

    @cached_property
    def _files(self) -> "list[FileIndex]":
        if self.names.length == INFINITE_CARDINALITY:
            raise BadArgumentError(
                "index=True needs an end of the names of files. Received: filenames that repeat without an end. Repeat "
                "the records instead: TFRecordDataset(filenames, index=True).repeat()."
            )
        run = PlanRun()
        try:
            names = [as_file_name(row[0]) for row in self.names.open(run).rows()]
        finally:
            run.close()
        return [FileIndex(name, self._form) for name in names]

    @cached_property
    def _firsts(self) -> np.ndarray:
        """The position of each file's first record, and the number of all."""
        return np.cumsum([0, *(file.length for file in self._files)], dtype=np.int64)

    @property
    def length(self) -> int:
        """How many records there are; reads the files' indexes, or makes them."""
        return int(self._firsts[-1])

    def describe(self) -> str:
        return f"{self.label}({self.length})"

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather the records at some positions, those of a file in one go."""
        records = np.empty(len(indices), object)
        # The last file whose first record is not behind the position; empty files are passed over.
        files = np.searchsorted(self._firsts, indices, side="right") - 1
        for number in np.unique(files):
            chosen = np.flatnonzero(files == number)
            records[chosen] = self._files[number].read(indices[chosen] - self._firsts[number], run.origins)
        return Columns([records], len(indices))


class FileIndex:
    """Where the records of one file begin.

    Args:
        name: A path.
        form: How to read the file.

    Attributes:
        length: How many records there are, and one more if what follows them can't be read.
    """

    def __init__(self, name: str, form: TFRecordFormat) -> None:
        self._name = name
        self._path = _check_path(name)
        self._form = form
        with reading(name):
            self._size = os.path.getsize(self._path)
            self._starts = _starts_of(self._path)
        self._failure = None if int(self._starts[-1]) == self._size else self._failure_behind()
        self.length = len(self._starts) - 1 + (self._failure is not None)

    def _failure_behind(self) -> DataLossError | None:
        """Return what the reader says about the bytes behind the last record."""
        stream = self._form.open(self._name)
        try:
            stream.seek(int(self._starts[-1]), len(self._starts) - 1)
            return stream.read().last  # type: ignore[return-value]
        except StopIteration:
            return None
        finally:
            stream.close()

    def read(self, positions: np.ndarray, origins: Origins) -> np.ndarray:
        """Read records by number, objects [n], and note their positions; raise for the first that can't be read."""
        if self._failure is not None and (positions >= len(self._starts) - 1).any():
            # A copy: a raised error collects frames, and threads may raise it at the same time.
            raise copy.copy(self._failure)
        # In the order of the file, which turns a shuffled batch into fewer and longer reads.
        order = np.argsort(positions, kind="stable")
        numbers = positions[order]
        starts, stops = self._starts[numbers], self._starts[numbers + 1]
        # Before any memory is taken.
        self._check_lengths(numbers, stops - starts - FRAME_BYTES)
        origins.note(self._name, self._form, numbers, starts, stops)
        try:
            with reading(self._name), open(self._path, "rb", buffering=0) as file:
                self._check_size(os.fstat(file.fileno()).st_size)
                records = read_records(file.fileno(), starts, stops, check_crc=self._form.check_crc)
        except BadRecordError as e:
            what, hint = _OTHER_FILE, "Make the Dataset anew."
            if e.is_data:
                what, hint = _BAD_DATA, "Make the file again, or leave the record out with ignore_errors()."
            raise self._error(what, int(numbers[e.index]), hint) from None
        found = np.empty(len(positions), object)
        found[order] = records
        return found

    def _check_lengths(self, numbers: np.ndarray, lengths: np.ndarray) -> None:
        large = np.flatnonzero(lengths > self._form.max_record_bytes)
        if len(large):
            what = too_large(int(lengths[large[0]]), self._form.max_record_bytes)
            raise self._error(
                what, int(numbers[large[0]]), "Pass a larger max_record_bytes if such records are meant."
            )

    def _check_size(self, size: int) -> None:
        """Raise if the file has other records than those that were counted."""
        if size != self._size:
            raise DataLossError(
                "The file is written to while it is read by index: its records were counted when it had "
                f"{self._size} bytes. Received: filename={shown(self._name)} of {size} bytes. Wait until its writer "
                "has closed it and make the Dataset anew, or leave index out.",
                filename=self._name,
            )

    def _error(self, what: str, record: int, hint: str) -> DataLossError:
        offset = int(self._starts[record])
        return DataLossError(
            f"{what}. Received: filename={shown(self._name)}, record={record}, offset={offset}. {hint}",
            filename=self._name,
            record=record,
            offset=offset,
        )


def _check_path(name: str) -> str:
    path = local_path(name)
    if path is None:
        raise BadArgumentError(
            f"index=True needs files of this machine. Received: filename={shown(name)}. Copy the file, or leave "
            "index out."
        )
    if not _tells_size(name, path):
        raise BadArgumentError(
            "index=True needs files whose size tells where they end, no pipes and no files of /proc. Received: "
            f"filename={shown(name)}. Copy the content to a file, or leave index out."
        )
    return path


def _tells_size(name: str, path: str) -> bool:
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return False
    with contextlib.closing(open_bytes(name)) as stream:
        return os.path.getsize(path) > 0 or not stream.more(b"", 1)


# Finding out where records begin


def _starts_of(path: str) -> np.ndarray:
    """Return where each record begins and the last one ends, int64 [n + 1]: from the index, or from the file."""
    facts = _facts(path)
    starts = _load_index(_index_path(path), facts)
    if starts is None:
        starts = scan(path)
        # Kept only for a sound file that was not written to meanwhile.
        if int(starts[-1]) == facts[1] and facts == _facts(path):
            # The folder may be read-only: then every process counts the records for itself.
            with contextlib.suppress(OSError), new_file(_index_path(path)) as file:
                np.save(file, np.concatenate([np.array(facts, np.int64), starts]), allow_pickle=False)
    return starts


def _facts(path: str) -> list[int]:
    """Return the facts by which an index is known to belong to the present file."""
    status = os.stat(path)
    return [_MAGIC, status.st_size, status.st_mtime_ns]


def _index_path(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}{INDEX_SUFFIX}")


def _load_index(path: str, facts: list[int]) -> np.ndarray | None:
    """Load an index that was kept; None if there is none, or it does not belong to the file."""
    try:
        content: np.ndarray = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    # Any mismatch means an index of another file or version: it is made anew.
    if content.dtype != np.int64 or content.ndim != 1 or content[:_FACTS].tolist() != facts:
        return None
    starts = content[_FACTS:]
    is_sound = len(starts) and starts[0] == 0 and starts[-1] == facts[1]
    return starts if is_sound and bool((np.diff(starts) >= FRAME_BYTES).all()) else None


def scan(path: str) -> np.ndarray:
    """Go from length to length; stop where a length is damaged or the file is cut off."""
    parts = [np.zeros(1, np.int64)]
    known: dict[bytes, int] = {}
    size = _WINDOW
    with open(path, "rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        offset = 0
        while offset < end:
            window = os.pread(file.fileno(), size, offset)
            stops = _stops(window, known, end - offset)
            if not len(stops):
                break
            # Of large records only the beginnings are read.
            size = _GLANCE if len(stops) == 1 else _WINDOW
            parts.append(stops + offset)
            offset += int(stops[-1])
    return np.concatenate(parts)


def _stops(window: bytes, known: dict[bytes, int], left: int) -> np.ndarray:
    """Return where the records end whose headers are in a window that begins with one."""
    parts: list[np.ndarray] = []
    stops: list[int] = []
    position, before = 0, b""
    while len(header := window[position : position + HEADER_BYTES]) == HEADER_BYTES:
        length = known.get(header)
        if length is None:
            length = length_of(header)
            # A damaged length: where the next record begins is unknown.
            if length is None:
                break
            # Checking a header costs a checksum; equal lengths have equal headers.
            if len(known) < _MAX_KNOWN_HEADERS:
                known[header] = length
        size = HEADER_BYTES + length + FOOTER_BYTES
        # The record is cut off.
        if position + size > left:
            break
        # Records of equal length often come in long runs, which NumPy finds faster than this loop.
        run = _run(window, position, size, left) if header == before else 1
        if run > 1:
            parts += [np.array(stops, np.int64), position + size * np.arange(1, run + 1)]
            stops = []
        else:
            stops.append(position + size)
        position += size * run
        before = header
    return np.concatenate([*parts, np.array(stops, np.int64)])


def _run(window: bytes, position: int, size: int, left: int) -> int:
    """Count the records from a position on with the same header, looked for in ever larger steps."""
    header = np.frombuffer(window, np.uint8, HEADER_BYTES, position)
    there = min((len(window) - position) // size, (left - position) // size)
    found, count = 1, _LEAST_RUN
    while found < there:
        rows = np.frombuffer(window, np.uint8, min(count, there) * size, position).reshape(-1, size)
        differ = np.flatnonzero((rows[found:, :HEADER_BYTES] != header).any(axis=1))
        if len(differ):
            return found + int(differ[0])
        # Larger steps while all are equal: a short run costs little, a long one few comparisons.
        found, count = len(rows), count * _LEAST_RUN
    return max(1, found)
