"""Reading written elements: at any position where their files lie on this machine, else in order (data layer)."""

import dataclasses
import heapq
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import Block, TensorSpec, concatenate_blocks, decode_boxed, flatten
from stratax.data.plan import Node, OwnLock, Passes, PlanRun
from stratax.data.position import Cursor, Feed, State, one
from stratax.data.records import DEFAULT_BUFFER, FRAME_BYTES, BadRecordError, TFRecordFormat, read_records
from stratax.data.snapshots._snapshot import ShardFile, Snapshot, missing_shard, read_index
from stratax.data.sources import FileSource, list_names
from stratax.errors import DataLossError, FileMissingError
from stratax.io import local_path, reading


class _OpenShard:
    """One file of elements, read at positions; the system moves no common position, so several threads may read."""

    def __init__(self, shard: ShardFile) -> None:
        self._shard = shard
        try:
            with reading(shard.file):
                self._file = open(str(local_path(shard.file)), "rb", buffering=0)  # noqa: SIM115 (closed by close)
        except FileMissingError as e:
            raise missing_shard(shard) from e

    def read(self, rows: np.ndarray, entries: np.ndarray) -> list[bytes]:
        """Return the records of some entries of the index ([n, 3]).

        Args:
            rows: Their positions, for messages.
            entries: Their part of the index.
        """
        # In the order of the file, in which neighbours are read in one go.
        order = np.argsort(entries[:, 0], kind="stable")
        starts, lengths = entries[order, 0], entries[order, 1]
        try:
            with reading(self._shard.file):
                found = read_records(
                    self._file.fileno(), starts, starts + lengths + FRAME_BYTES, check_crc=True
                )
        except BadRecordError as e:
            row = int(order[e.index])
            offset = int(entries[row, 0])
            raise make_damage_error(
                self._shard, int(rows[row]), offset, "its checksum does not fit"
            ) from None
        records: list[bytes] = [b""] * len(order)
        for row, record in zip(order.tolist(), found, strict=True):
            records[row] = record
        return records

    def close(self) -> None:
        self._file.close()


def make_damage_error(shard: ShardFile, row: int, offset: int | None, what: str) -> DataLossError:
    """Return the error for a saved element that can't be read."""
    at = "" if offset is None else f", offset {offset}"
    return DataLossError(
        f"A saved element is damaged: {what}. Received: file={shown(shard.file)}, element {row}{at}. "
        "Write the folder again.",
        filename=shard.file,
        record=row,
        offset=offset,
    )


class SnapshotFiles:
    """The files of a folder of elements, opened when they are first read.

    Args:
        snapshot: What lies in the folder; uncompressed, on this machine.
        order: Where the elements stand in the files, one after another; as they stand if None.
    """

    def __init__(self, snapshot: Snapshot, order: np.ndarray | None = None) -> None:
        self._snapshot = snapshot
        self._order = order
        self._specs = flatten(snapshot.spec)[0]
        self._bounds = np.cumsum([0, *(shard.count for shard in snapshot.shards)])
        self._open: dict[int, _OpenShard] = {}
        self._lock = OwnLock()

    @cached_property
    def index(self) -> np.ndarray:
        """Offset, length and number of the shapes of each element, int64 [n, 3]."""
        tables = [read_index(shard) for shard in self._snapshot.shards]
        index = np.concatenate([np.empty((0, 3), np.int64), *tables])
        return index if self._order is None else index[self._order]

    def gather(self, indices: np.ndarray) -> Block:
        """Return the elements at some positions, as far as they have the shapes of the first."""
        entries = self.index[indices]
        indices = indices if self._order is None else self._order[indices]
        shards = np.searchsorted(self._bounds, indices, side="right") - 1
        records: list[bytes] = [b""] * len(indices)
        for number in np.unique(shards).tolist():
            chosen = np.flatnonzero(shards == number)
            rows = indices[chosen] - self._bounds[number]
            for i, record in zip(chosen, self._shard(number).read(rows, entries[chosen]), strict=True):
                records[i] = record
        try:
            return decode_boxed(records, self._specs)
        except ValueError as e:
            first = int(shards[0])
            shard, row = self._snapshot.shards[first], int(indices[0] - self._bounds[first])
            raise make_damage_error(
                shard, row, int(entries[0, 0]), f"{e}, in this element or one read with it"
            ) from e

    def _shard(self, number: int) -> _OpenShard:
        with self._lock:
            if number not in self._open:
                self._open[number] = _OpenShard(self._snapshot.shards[number])
            return self._open[number]

    def close(self) -> None:
        with self._lock:
            for shard in self._open.values():
                shard.close()
            self._open.clear()


class _Elements(Node):
    """The elements of a folder.

    Args:
        snapshot: What lies in the folder.
        spec: Structure of the specs of the elements.
    """

    label = "Load"
    batch_size = None

    def __init__(self, snapshot: Snapshot, spec: PyTree) -> None:
        self._snapshot = snapshot
        self._spec = spec

    @property
    def spec(self) -> Any:
        """Describe elements as they were saved."""
        return self._spec

    @property
    def length(self) -> int:
        """How many elements were saved."""
        return self._snapshot.count

    def describe(self) -> str:
        """Return the writing: another one has other elements."""
        return f"{self.label}({self._snapshot.run}, {self._snapshot.count})"


class SnapshotSource(_Elements):
    """The elements of a folder, at any position; uncompressed, on this machine.

    Args:
        snapshot: What lies in the folder.
        spec: Structure of the specs of the elements.
        num_turns: How many files take turns.
    """

    is_indexable = True

    def __init__(self, snapshot: Snapshot, spec: PyTree, num_turns: int = 1) -> None:
        super().__init__(snapshot, spec)
        counts = [shard.count for shard in snapshot.shards]
        self._num_turns = min(num_turns, len(counts))
        self._order = _in_turns(counts, num_turns) if self._num_turns > 1 else None
        self._index: np.ndarray | None = None
        self._lock = OwnLock()

    def describe(self) -> str:
        """Return the writing, and how many files take turns, on which the order depends."""
        turns = f", {self._num_turns} turns" if self._num_turns > 1 else ""
        return super().describe()[:-1] + turns + ")"

    @property
    def is_uniform(self) -> bool:
        """Whether the spec says so."""
        # Those of composites are in boxes, of which nobody knows it.
        specs = flatten(self._spec)[0]
        return all(isinstance(s, TensorSpec) and s.shape is not None and None not in s.shape for s in specs)

    def _files(self, run: PlanRun) -> SnapshotFiles:
        key = ("snapshot", id(self))
        with self._lock:
            if key not in run.memo:
                run.memo[key] = files = SnapshotFiles(self._snapshot, self._order)
                if self._index is None:
                    self._index = files.index
                # Past the cached property: every iterator uses one table, read once.
                files.__dict__["index"] = self._index
                run.on_close(lambda wait: files.close())
            return run.memo[key]  # type: ignore[no-any-return]

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Read them from the files."""
        files = self._files(run)
        found = files.gather(indices)
        blocks = [found]
        while found.count < len(indices):
            indices = indices[found.count :]
            found = files.gather(indices)
            blocks.append(found)
        return concatenate_blocks(blocks)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Read from the index which shape each element has."""
        return None if self.is_uniform else self._files(run).index[indices, 2]


class SnapshotStream(_Elements):
    """The elements of a folder in order, for files that are compressed or not on this machine."""

    is_indexable = False
    is_uniform = False

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Return the records of the files, decoded."""
        return SnapshotCursor(self._snapshot, run)


class SnapshotCursor(Cursor):
    """Reads a folder of elements in order.

    Args:
        snapshot: What lies in the folder.
        run: What the iterator shares.
    """

    def __init__(self, snapshot: Snapshot, run: PlanRun) -> None:
        self._snapshot = snapshot
        self._specs = flatten(snapshot.spec)[0]
        names = list_names("FileNames", [shard.file for shard in snapshot.shards])
        source = FileSource(names, TFRecordFormat(snapshot.compression, DEFAULT_BUFFER, True))
        self._records = Feed(source.open(run), one)
        self._number = 0

    def read(self, limit: int) -> Block:
        """Decode up to `limit` records; those of other shapes wait for the next call."""
        try:
            block = self._records.peek(limit)
        except StopIteration:
            raise
        except Exception:
            self._pass(1)
            raise
        try:
            found = decode_boxed(block.columns()[0].tolist(), self._specs)
        except ValueError as e:
            if block.count > 1:
                # A record in the block is damaged; alone it is known which.
                return self.read(1)
            number = self._number
            self._pass(1)
            raise make_damage_error(self._snapshot.shards[0], number, None, str(e)) from e
        self._pass(found.count)
        return found

    def _pass(self, count: int) -> None:
        self._records.advance(count)
        self._number += count

    def skip(self, count: int) -> int:
        passed = self._records.skip(count)
        self._number += passed
        return passed

    def get_state(self) -> State:
        """Return the position among the records."""
        return {"records": self._records.get_state(), "number": self._number}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._records.set_state(state["records"])
        self._number = state["number"]

    def close(self) -> None:
        self._records.close()


def _in_turns(counts: Sequence[int], num_turns: int) -> np.ndarray:
    """Return the positions of elements in the order of a parallel `interleave` of files of so many elements each."""
    # The round in which each place of the cycle finds that its file has ended: the next one begins with its next turn.
    free = [(-1, place) for place in range(num_turns)]
    rounds, places = [], []
    for count in counts:
        ended, place = heapq.heappop(free)
        rounds.append(np.arange(ended + 1, ended + 1 + count))
        places.append(np.full(count, place))
        heapq.heappush(free, (ended + 1 + count, place))
    return np.lexsort((np.concatenate(places), np.concatenate(rounds)))


def source_of(
    snapshot: Snapshot, spec: PyTree, shards: Sequence[ShardFile] | None = None, num_turns: int = 1
) -> Node:
    """Return the node that reads a folder, or some of its files.

    Args:
        snapshot: What lies in the folder.
        spec: Structure of the specs of the elements.
        shards: The files; all if None.
        num_turns: How many files take turns, if any element can be read.
    """
    if shards is not None:
        snapshot = dataclasses.replace(snapshot, shards=tuple(shards))
    if is_indexable(snapshot):
        return SnapshotSource(snapshot, spec, num_turns)
    return SnapshotStream(snapshot, spec)


def is_indexable(snapshot: Snapshot) -> bool:
    """Return whether any element can be read at once: of local files without compression."""
    return snapshot.is_local and not snapshot.compression
