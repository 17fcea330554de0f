"""A thread that makes items before they are asked for, and the queue in which they wait (data layer)."""

import math
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from stratax.base.shown import shown
from stratax.errors import DataError

_WAIT_SECONDS = 1.0
# How long a thread that was told to end is waited for.
JOIN_SECONDS = 5.0

Item = TypeVar("Item")


class Background(Generic[Item]):
    """Makes items on a thread of its own, in order, at most `depth` of them ahead of who takes them.

    An item may stand for several things, such as the elements of a block; they are what is counted.

    Args:
        depth: How many things may wait, at least 1.
        size_of: How many things an item stands for.
        interrupt: Ends a wait of what makes items for something else than its source; called when the thread is to end.

    Attributes:
        depth: How many things may wait.
        has_begun: Whether there is a thread.
    """

    def __init__(
        self, depth: int, size_of: Callable[[Item], int], interrupt: Callable[[], None] | None = None
    ) -> None:
        self.depth = depth
        self._size_of = size_of
        self._interrupt = interrupt
        # One condition for both sides: the taker waits for an item, the thread for room; every change wakes
        # both.
        self._changed = threading.Condition()
        self._items: deque[tuple[Item | Exception, int]] = deque()
        self._waiting = 0
        self._wanted = 1
        self._bound = math.inf
        self._ended = False
        self._stopped = False
        # Reentrant: a garbage collection inside `begin` may close the same iteration, which calls `stop`.
        self._starting = threading.RLock()
        self._thread: threading.Thread | None = None
        self.has_begun = False

    def begin(
        self,
        make: Callable[[int], Item],
        release: Callable[[], None],
        *,
        name: str,
        wanted: int,
        number: int = 0,
    ) -> None:
        """Start the thread, unless :meth:`stop` was called.

        Args:
            make: Makes an item of at most so many things; raises StopIteration at the end. Only the thread calls it.
            release: Called by the thread at its end.
            name: The thread's.
            wanted: How many things an item is to stand for, until :meth:`take` asks for another number.
            number: How many things were made before, which :meth:`bind_to` counts.
        """
        self._wanted = wanted
        thread = threading.Thread(target=_fill, args=(self, make, release, number), name=name, daemon=True)
        # It may be stopped meanwhile, where another thread closes what is read from here.
        with self._starting:
            if not self._stopped:
                thread.start()
                self._thread = thread
                self.has_begun = True

    def take(self, wanted: int | None = None) -> Item:
        """Return the oldest item, or raise what was raised in its place; wait for it if there is none.

        Args:
            wanted: How many things the next items are to stand for; None: as before.

        Raises:
            StopIteration: At the end, or when it was stopped.
        """
        if wanted is not None:
            self._wanted = wanted
        with self._changed:
            while not (self._items or self._ended or self._stopped):
                # A bounded wait, since a thread that died without `end` wakes nobody.
                if not self._changed.wait(_WAIT_SECONDS):
                    self.check_alive()
            # Ended and empty is the end of the pass; what was made after a stop is nobody's any more.
            if not self._items or self._stopped:
                raise StopIteration
            item, size = self._items.popleft()
            self._waiting -= size
            self._changed.notify_all()
        # Raised here, outside of the lock, and in the taker's thread: an error keeps its turn among the
        # items.
        if isinstance(item, Exception):
            raise item
        return item

    def wait(self, seconds: float) -> bool:
        """Wait so long at most, and return whether :meth:`take` would return or raise at once."""
        with self._changed:
            if not (self._items or self._ended or self._stopped):
                self._changed.wait(seconds)
            return bool(self._items) or self._ended or self._stopped

    def check_alive(self) -> None:
        """Raise an error if nothing will come any more.

        Raises:
            DataError: There is no thread.
        """
        # In a forked process, for instance, there is no thread that could say that it has ended.
        if self._thread is None or not self._thread.is_alive():
            raise DataError("The thread that reads input ended without saying why.")

    def bind_to(self, number: float) -> None:
        """Have no more made than so many things since the beginning; infinity for no bound."""
        with self._changed:
            self._bound = number
            self._changed.notify_all()

    def raise_bound(self, number: float) -> None:
        """Let at least so many things be made."""
        if self._bound < number:
            self.bind_to(number)

    def stop(self, wait: bool = True) -> bool:
        """Have the thread end after the item that it is making; drop what waits.

        Args:
            wait: Whether to wait for it, but not for ever: a source may be stuck.

        Returns:
            Whether it has ended.
        """
        with self._starting, self._changed:
            self._stopped = True
            self._items.clear()
            self._changed.notify_all()
        # The thread may be blocked in a read that has no end of its own, a socket for example.
        if self._interrupt is not None:
            self._interrupt()
        thread = self._thread
        # A thread cannot join itself: a finalizer may run in the very thread that it is to end.
        if thread is None or thread is threading.current_thread():
            return True
        if wait:
            thread.join(JOIN_SECONDS)
        return not thread.is_alive()

    # What the thread calls.

    def room(self, number: int) -> int:
        """Wait until more may be made behind `number` things, and return how many; 0 to end."""
        with self._changed:
            while not self._stopped and (self._waiting >= self.depth or number >= self._bound):
                self._changed.wait()
            return 0 if self._stopped else int(min(self._wanted, self._bound - number))

    def put(self, item: Item | Exception) -> int:
        """Add an item, and return how many things it stands for."""
        # Measured outside of the lock; a failure stands for the one element that failed.
        size = 1 if isinstance(item, Exception) else self._size_of(item)
        with self._changed:
            self._items.append((item, size))
            self._waiting += size
            self._changed.notify_all()
        return size

    def end(self) -> None:
        """Say that nothing more comes."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def _fill(
    queue: Background[Item], make: Callable[[int], Item], release: Callable[[], None], number: int
) -> None:
    """Make items until the end, in the thread."""
    try:
        while wanted := queue.room(number):
            try:
                item: Item | Exception = make(wanted)
            except StopIteration:
                return
            except Exception as e:
                item = e
            number += queue.put(item)
    except BaseException as e:
        # `SystemExit` and its like would end the taker's program if they were raised there.
        queue.put(e if isinstance(e, Exception) else RuntimeError(f"A background thread ended: {shown(e)}"))
        raise
    finally:
        queue.end()
        # After `end`: closing files may take time, and the taker need not wait for it.
        release()
