"""`prefetch`: elements made in the background while the last ones are used (data layer)."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from stratax.data._block import Block, Rows, shapes_of
from stratax.data._node import Node, Passes, Run
from stratax.data._spec import AUTOTUNE
from stratax.data._structure import Row

AUTOTUNED_DEPTH = 2
_JOIN_SECONDS = 5.0


class Reader(Protocol):
    """Gives the elements of a plan in blocks."""

    def read(self, limit: int) -> Block:
        """The next 1 to `limit` elements of one shape; raises StopIteration at the end."""


class RowReader:
    """Blocks of a stream's rows.

    Args:
        rows: The stream.
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._next: Row | None = None
        self._failure: Exception | None = None

    def read(self, limit: int) -> Block:
        """The next rows of one shape; what the stream raises comes after the rows before it."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        first = self._next if self._next is not None else next(self._rows)
        self._next = None
        taken = [first]
        while len(taken) < limit:
            try:
                row = next(self._rows, None)
            except Exception as e:
                self._failure = e
                break
            if row is None or shapes_of(row) != shapes_of(first):
                self._next = row
                break
            taken.append(row)
        return Rows(taken)


class PrefetchReader:
    """Reads ahead on a thread of its own, at most about `depth` elements.

    Args:
        reader: Where the elements come from; only the thread uses it from now on.
        depth: How many elements may wait, at least 1.
    """

    def __init__(self, reader: Reader, depth: int) -> None:
        self._shared = _Shared(depth)
        self._thread = threading.Thread(
            target=_produce, args=(reader, self._shared), name="stratax-prefetch", daemon=True
        )
        self._thread.start()

    def read(self, limit: int) -> Block:
        """The oldest waiting block, which may have another size than asked for; later ones will have that size."""
        return self._shared.take(limit)

    def close(self, wait: bool = True) -> None:
        """Ends the thread; waits for it unless told otherwise."""
        self._shared.stop()
        if wait and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_SECONDS)


class _Shared:
    """What the consumer and the thread share."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._changed = threading.Condition()
        self._items: deque[Block | Exception] = deque()
        self._waiting = 0
        self._ended = False
        self._stopped = False
        self._limit = 1

    def take(self, limit: int) -> Block:
        with self._changed:
            self._limit = limit
            self._changed.wait_for(lambda: self._items or self._ended or self._stopped)
            if not self._items or self._stopped:
                raise StopIteration
            item = self._items.popleft()
            self._waiting -= _count(item)
            self._changed.notify_all()
        if isinstance(item, Exception):
            raise item
        return item

    def put(self, item: Block | Exception) -> None:
        with self._changed:
            self._items.append(item)
            self._waiting += _count(item)
            self._changed.notify_all()

    def wait_for_room(self) -> int:
        """How many elements to read next; 0 to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._waiting < self._depth)
            return 0 if self._stopped else self._limit

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._items.clear()
            self._changed.notify_all()


def _count(item: Block | Exception) -> int:
    return item.count if isinstance(item, Block) else 1


def _produce(reader: Reader, shared: _Shared) -> None:
    try:
        while limit := shared.wait_for_room():
            try:
                shared.put(reader.read(limit))
            except StopIteration:
                return
            except Exception as e:
                shared.put(e)
    finally:
        shared.end()


class Prefetch(Node):
    """Its child's elements, made ahead.

    In an indexable plan it changes nothing itself: the iterator reads the whole plan ahead on one thread.

    Args:
        child: The node.
        buffer_size: How many elements to make ahead, or AUTOTUNE; 0 for none.
    """

    label = "Prefetch"

    def __init__(self, child: Node, buffer_size: int) -> None:
        self.children = (child,)
        self.depth = AUTOTUNED_DEPTH if buffer_size == AUTOTUNE else buffer_size

    @property
    def child(self) -> Node:
        """The node it reads from."""
        return self.children[0]

    @property
    def spec(self) -> Any:
        """As the child's."""
        return self.child.spec

    @property
    def length(self) -> int:
        """As the child's."""
        return self.child.length

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """As the child."""
        return self.child.gather(indices, passes, run)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """As the child's."""
        return self.child.shape_ids(indices, passes, run)

    def rows(self, run: Run, passes: int = 0) -> Iterator[Row]:
        """From a thread, over a stream."""
        if self.is_indexable:
            return super().rows(run, passes)
        return self._ahead(run, passes) if self.depth else self.child.rows(run, passes)

    def _ahead(self, run: Run, passes: int) -> Iterator[Row]:
        reader = PrefetchReader(RowReader(self.child.rows(run, passes)), self.depth)
        run.on_close(reader.close)
        try:
            while True:
                try:
                    block = reader.read(1)
                except StopIteration:
                    return
                yield block.row(0)
        finally:
            reader.close()
            run.forget(reader.close)


def depth_at_root(node: Node) -> int:
    """How many elements the iterator of an indexable plan reads ahead: that of the outermost `prefetch`, 0 for none.

    One below a `batch` counts what the batches take.
    """
    per_element = 1
    while len(node.children) == 1:
        if isinstance(node, Prefetch):
            return max(1, node.depth // per_element) if node.depth else 0
        per_element *= node.group_size
        node = node.children[0]
    return 0
