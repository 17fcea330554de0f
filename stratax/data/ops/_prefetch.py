"""`prefetch`: elements made in the background while the last ones are used (data layer)."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from stratax._shown import shown
from stratax.data.elements import AUTOTUNE, Block
from stratax.data.plan import Node, Passes, Run, as_count
from stratax.data.position import Cursor, State, Trail

AUTOTUNED_DEPTH = 2
_JOIN_SECONDS = 5.0
_WAIT_SECONDS = 1.0


class PrefetchCursor(Cursor):
    """Reads ahead on a thread of its own, at most about `depth` elements; the thread starts at the first reading.

    Args:
        child: Where the elements come from; only the thread uses it then.
        depth: How many elements may wait, at least 1.
        run: Ends the thread with the iterator.
        gate: Bounds how many such threads read at a time.
    """

    def __init__(self, child: Cursor, depth: int, run: Run, gate: threading.Semaphore | None = None) -> None:
        self._gate = gate
        self._child = child
        self._run = run
        self._trail = Trail(child)
        self._shared = _Shared(depth)
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()
        self._block: Block | None = None
        self._num_passed = 0

    def start(self, limit: int) -> None:
        """Starts the thread, which reads `limit` elements at a time until another number is asked for."""
        self._run.on_close(self._stop)
        # So that there is a place to go back to before the thread has read anything.
        self._trail.mark(0, 0)
        self._shared.expect(limit)
        thread = threading.Thread(
            target=_produce,
            args=(self._child, self._trail, self._shared, self._gate or contextlib.nullcontext()),
            name="stratax-prefetch",
            daemon=True,
        )
        # The iterator may be closed meanwhile, where another thread reads from here.
        with self._starting:
            if not self._shared.is_stopped:
                thread.start()
                self._thread = thread

    def read(self, limit: int) -> Block:
        """The oldest waiting elements; the thread reads as many at a time as are asked for here."""
        if self._thread is None:
            self.start(limit)
        block = self._block or self._shared.take(limit, self._is_alive)
        if isinstance(block, Exception):
            self._passed(1)
            raise block
        self._block = block.slice(limit, block.count) if block.count > limit else None
        block = block.slice(0, limit) if block.count > limit else block
        self._passed(block.count)
        return block

    def _passed(self, count: int) -> None:
        self._num_passed += count
        self._shared.num_passed = self._num_passed

    def _is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def get_state(self) -> State:
        """The place behind what was given."""
        return self._trail.place(self._num_passed, None if self._thread is not None else self._num_passed)

    def set_state(self, state: State) -> None:
        """Goes there, before the thread starts."""
        self._trail.go_to(state)

    def skip(self, count: int) -> int:
        """In the child, before the thread starts."""
        return super().skip(count) if self._thread is not None else self._child.skip(count)

    def close(self) -> None:
        """Ends the thread."""
        self._stop()
        self._run.forget(self._stop)

    def _stop(self, wait: bool = True) -> None:
        with self._starting:
            self._shared.stop()
        if self._thread is None:
            self._child.close()
        elif wait and self._thread is not threading.current_thread():
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
        self.num_passed = 0

    def take(self, limit: int, is_alive: Callable[[], bool]) -> Block | Exception:
        with self._changed:
            self._limit = limit
            while not self._changed.wait_for(
                lambda: self._items or self._ended or self._stopped, _WAIT_SECONDS
            ):
                if not is_alive():
                    break
            if not self._items or self._stopped:
                raise StopIteration
            item = self._items.popleft()
            self._waiting -= _count(item)
            self._changed.notify_all()
        return item

    def expect(self, limit: int) -> None:
        """As if as many had been asked for."""
        self._limit = limit

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

    @property
    def is_stopped(self) -> bool:
        """Whether nobody reads any more."""
        return self._stopped

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._items.clear()
            self._changed.notify_all()


def _count(item: Block | Exception) -> int:
    return item.count if isinstance(item, Block) else 1


def _produce(child: Cursor, trail: Trail, shared: _Shared, gate: AbstractContextManager[Any]) -> None:
    num_read = 0
    try:
        while limit := shared.wait_for_room():
            trail.mark(num_read, shared.num_passed)
            try:
                with gate:
                    item: Block | Exception = child.read(limit)
            except StopIteration:
                return
            except Exception as e:
                item = e
                trail.mark_failure(num_read + 1, shared.num_passed)
            num_read += _count(item)
            shared.put(item)
    except BaseException as e:
        shared.put(e if isinstance(e, Exception) else RuntimeError(f"A background thread ended: {shown(e)}"))
        raise
    finally:
        shared.end()
        child.close()


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
        """Describe elements as the child does."""
        return self.child.spec

    @property
    def length(self) -> int:
        """Count as many elements as the child has."""
        return self.child.length

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """Gather elements as the child does."""
        return self.child.gather(indices, passes, run)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """Name shapes as the child does."""
        return self.child.shape_ids(indices, passes, run)

    def stream(self, run: Run, passes: int) -> Cursor:
        """Open a pass that a thread reads ahead."""
        child = self.child.open(run, passes)
        return PrefetchCursor(child, self.depth, run) if self.depth else child


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


def make_prefetch(node: Node, buffer_size: object) -> Node:
    """Make the node of `Dataset.prefetch`."""
    depth = AUTOTUNE if buffer_size is None else as_count("buffer_size", buffer_size, AUTOTUNE)
    return Prefetch(node, depth)
