"""`cache(filename)`: elements kept in files after the first whole pass, for later passes and processes (data layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import StrPath
from stratax.data.elements import Block, Columns, ElementRows, flatten, spec_kind
from stratax.data.ops import below_batches
from stratax.data.plan import Node, OverOne, OwningCursor, OwnLock, Passes, PlanRun, walk
from stratax.data.position import Cursor, State
from stratax.data.snapshots._snapshot import Snapshot, read_snapshot
from stratax.data.snapshots._source import source_of
from stratax.data.snapshots._writer import SnapshotWriter
from stratax.errors import DataError
from stratax.io import as_file_name, local_path


def make_file_cache(node: Node, filename: StrPath) -> Node:
    """`cache(filename)`, below the batches of an indexable plan."""
    path = as_file_name(filename)
    return below_batches(node, lambda child: FileCache(child, path))


class FileCache(OverOne):
    """Its child's elements, written to files by the first pass that gets to its end and read from there ever after.

    A pass that is not whole leaves nothing. Over an indexable child elements are written in whatever order they are
    asked for, and it stays indexable; over a stream it stays a stream, so a saved place means the same before and
    after the files are there. The order of shuffles below is that of the pass that was written.

    Args:
        child: The node whose elements are kept.
        path: The folder of the files.
    """

    label = "FileCache"

    def __init__(self, child: Node, path: str) -> None:
        super().__init__(child)
        self._path = path
        self._lock = OwnLock()
        self._source: tuple[Snapshot, Node] | None = None
        # The stored elements are in the order of these seeds, so the seeds are the key of what is stored.
        self._orders = [node.order for node in walk(child) if node.order is not None]

    @property
    def is_indexable(self) -> bool:
        """Whether the child is, has an end, and the files lie on this machine."""
        return self.child.is_indexable and self.child.length >= 0 and local_path(self._path) is not None

    def find_stored(self, run: PlanRun) -> tuple[Snapshot, Node] | None:
        """Return what the files hold, and the node that reads it; None if there are none for the seeds of this run.

        Raises:
            DataError: The files hold elements of another pipeline.
        """
        with self._lock:
            if self._source is None:
                snapshot = read_snapshot(self._path)
                if snapshot is None:
                    return None
                self._check(snapshot)
                self._source = snapshot, source_of(snapshot, self.spec)
            snapshot = self._source[0]
            if len(snapshot.key) == len(self._orders):
                for order, seed in zip(self._orders, snapshot.key, strict=True):
                    # The iteration takes over the seeds of the files, unless a restored position brought
                    # others.
                    if seed is not None and run.seeds.setdefault(id(order), seed) != seed:
                        return None
            return self._source

    def _check(self, snapshot: Snapshot) -> None:
        have, want = flatten(snapshot.spec)[0], flatten(self.spec)[0]
        # Sizes may differ, since batches may; ranks and dtypes may not.
        agree = spec_kind(snapshot.spec) == spec_kind(self.spec) and all(
            a.dtype == b.dtype and len(a.shape or ()) == len(b.shape or ())
            for a, b in zip(have, want, strict=True)
        )
        if not agree or (self.length >= 0 and snapshot.count != self.length):
            raise DataError(
                "The files of a cache hold the elements of another pipeline. Expected: "
                f"element_spec={shown(self.spec)}, cardinality={self.length}. Received: "
                f"element_spec={shown(snapshot.spec)}, "
                f"cardinality={snapshot.count} in filename={shown(self._path)}. Remove the folder, or name another."
            )

    def writer(self, run: PlanRun) -> SnapshotWriter:
        """Return a writer for the elements of one pass."""
        return SnapshotWriter(self._path, self.spec)

    def commit(self, writer: SnapshotWriter, run: PlanRun) -> None:
        """Publish the files of a whole pass, unless another process was first."""
        try:
            # Of several processes that fill the same cache the first one wins; all wrote the same elements.
            writer.commit(replace=False, key=[order.find_saved_seed(run) for order in self._orders])
        finally:
            writer.abandon()

    def freeze(self, run: PlanRun) -> PlanRun:
        """Return the run of the first pass, whatever iteration this is."""
        return self._of_run("frozen", run, lambda: _closing(run, run.child(iteration=0)))

    def _of_run(self, name: str, run: PlanRun, make: Callable[[], Any]) -> Any:
        key = (name, id(self))
        with self._lock:
            # One for each iteration, however many cursors of a plan read this node.
            if key not in run.memo:
                run.memo[key] = make()
            return run.memo[key]

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Read from the files, or from the child while the files are written."""
        stored = None if self._is_filling(run) else self.find_stored(run)
        if stored is not None:
            return stored[1].gather(indices, 0, run)
        filling: _Filling = self._of_run("filling", run, lambda: _Filling(self, run))
        with self._lock:
            return filling.gather(indices)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Return the child's in its first pass, or what the files say."""
        if self.is_uniform:
            return None
        stored = None if self._is_filling(run) else self.find_stored(run)
        if stored is not None:
            return stored[1].shape_ids(indices, 0, run)
        return self.child.shape_ids(indices, 0, self.freeze(run))

    def _is_filling(self, run: PlanRun) -> bool:
        """Return whether this iteration is taking the first pass's elements from the child.

        It goes on to do so when another iteration has put a pass there meanwhile, perhaps of another pipeline.
        """
        # Threads of a `map` gather at the same time; the writer takes one block at a time.
        with self._lock:
            filling = run.memo.get(("filling", id(self)))
        return filling is not None and filling.is_under_way

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Read from the files, or from the child while the files are written."""
        return FileCacheCursor(self, run)


def _closing(run: PlanRun, inner: PlanRun) -> PlanRun:
    run.on_close(inner.close)
    return inner


class _Filling:
    """Writes an indexable child's elements as they are asked for, until all are there."""

    def __init__(self, cache: FileCache, run: PlanRun) -> None:
        self._cache = cache
        self._run = run
        self._is_missing = np.ones(cache.length, bool)
        self._num_missing = cache.length
        self._writer = cache.writer(run)
        self._failure: Exception | None = None
        run.on_close(lambda wait: self._writer.abandon())

    @property
    def is_under_way(self) -> bool:
        """Whether elements are missing still."""
        return self._num_missing > 0

    def gather(self, indices: np.ndarray) -> Block:
        """Return the child's elements at some positions; raise the failure once they could not be written."""
        if self._failure is not None:
            raise self._failure
        block = self._cache.child.gather(indices, 0, self._cache.freeze(self._run))
        # A position may be asked for twice, in one block or, with `repeat`, in several; it is written once.
        new, first = np.unique(indices, return_index=True)
        chosen = first[self._is_missing[new]]
        if len(chosen) and self._num_missing:
            pieces = _of_one_shape(block, chosen)
            try:
                for piece in pieces:
                    self._write(piece.columns(), indices[chosen[: piece.count]])
                    chosen = chosen[piece.count :]
            except Exception as e:
                self._failure = e
                self._writer.abandon()
                raise
        return block

    def _write(self, columns: list[np.ndarray], positions: np.ndarray) -> None:
        count = len(positions)
        self._writer.write(columns, count, [0] * count, positions.tolist())
        self._is_missing[positions] = False
        self._num_missing -= count
        if not self._num_missing:
            self._cache.commit(self._writer, self._run)


def _of_one_shape(block: Block, chosen: np.ndarray) -> list[Block]:
    """Return some elements of a block, in pieces where they differ in shape, as rows of ragged elements do."""
    if isinstance(block, Columns):
        return [Columns([column[chosen] for column in block.leaves], len(chosen))]
    pieces: list[Block] = []
    rest: ElementRows | None = ElementRows([block.row(int(i)) for i in chosen])
    while rest is not None:
        piece, rest = rest.split(len(chosen))
        pieces.append(piece)
    return pieces


class _Unusable(Cursor):
    """A pass without elements, where the files of a cache can't be used: it raises the error once."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._is_told = False

    def read(self, limit: int) -> Block:
        if self._is_told:
            raise StopIteration
        # Set before raising: an error for each element would never end.
        self._is_told = True
        raise self._error

    def get_state(self) -> State:
        raise DataError(
            f"The position of this iterator can't be saved: the files of its cache can't be used. {self._error}"
        ) from self._error

    def set_state(self, state: State) -> None:
        self.get_state()


class FileCacheCursor(OwningCursor):
    """One pass over a stream that is cached in files.

    Args:
        cache: The node.
        run: What the iterator shares.
    """

    def __init__(self, cache: FileCache, run: PlanRun) -> None:
        self._cache = cache
        self._inner: Cursor | None = None
        self._stored: str | None = None
        self._writer: SnapshotWriter | None = None
        self._position = 0
        super().__init__(run)

    def read(self, limit: int) -> Block:
        """Return the next elements; those of the child are written before they are given."""
        inner = self._begin()
        try:
            block = inner.read(limit)
        except StopIteration:
            self._finish()
            raise
        except Exception:
            # A pass without some of its elements is not one to keep.
            self._position += 1
            self._abandon()
            raise
        try:
            self._write(block)
        except Exception:
            # What was not written is not lost: without writing, the child goes on behind the first of these elements.
            self._position += 1
            self._abandon()
            inner.close()
            self._inner = self._child()
            self._inner.skip(self._position)
            raise
        self._position += block.count
        return block

    def _begin(self) -> Cursor:
        if self._inner is None:
            try:
                self._inner = self._first()
            except Exception as e:
                self._inner = _Unusable(e)
        return self._inner

    def _first(self) -> Cursor:
        stored = self._cache.find_stored(self._run)
        if stored is not None:
            return self._open(stored)
        # Only from the first element on: a pass that begins in the middle is never whole.
        self._writer = self._cache.writer(self._run)
        return self._child()

    def _child(self) -> Cursor:
        return self._cache.child.open(self._cache.freeze(self._run))

    def _open(self, stored: tuple[Snapshot, Node]) -> Cursor:
        self._stored = stored[0].run
        return stored[1].open(self._run)

    def _write(self, block: Block) -> None:
        # After a failure and after a restored position nothing is written any more.
        if self._writer is not None:
            first = self._position
            positions = range(first, first + block.count)
            self._writer.write(block.columns(), block.count, [0] * block.count, positions)

    def _finish(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._cache.commit(writer, self._run)

    def _abandon(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abandon()

    def skip(self, count: int) -> int:
        """Read on while a pass is written."""
        # The whole pass is to be stored, so elements that are skipped have to be made.
        inner = self._begin()
        if self._writer is not None:
            return super().skip(count)
        passed = inner.skip(count)
        self._position += passed
        return passed

    def get_state(self) -> State:
        """Return the position in the files, or the child's."""
        inner = self._begin()
        child = inner.get_state() if self._stored is None else None
        return {"stored": self._stored, "position": self._position, "child": child}

    def set_state(self, state: State) -> None:
        """Go there: in the files if they are there now, else in the child, without writing what is left."""
        stored = self._cache.find_stored(self._run)
        if state["stored"] is not None and (stored is None or stored[0].run != state["stored"]):
            raise DataError(
                "The place of an iterator is in the files of a cache that are not there any more. Expected: the "
                f"writing {shown(state['stored'])}. Received: "
                f"{shown(None if stored is None else stored[0].run)}. Iterate from "
                "the beginning."
            )
        self._position = state["position"]
        if stored is not None:
            self._inner = self._open(stored)
            self._inner.skip(self._position)
            return
        self._inner = self._child()
        self._inner.set_state(state["child"])

    def let_go(self, wait: bool = True) -> None:
        """Close the child; a pass that is not whole is dropped."""
        self._abandon()
        if self._inner is not None:
            self._inner.close()
