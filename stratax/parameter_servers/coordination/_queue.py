"""The queue of closures: what waits, what runs, and the first error (distribute layer)."""

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax

from stratax.errors import CancelledError
from stratax.parameter_servers.coordination._values import PerWorkerIterator, RemoteValue

# How many closures may wait: as many as in TensorFlow. Scheduling one more waits.
MOST_WAITING = 256 * 1024


class Closure:
    """A call that a worker is to make.

    Args:
        number: What tells it from all others of this coordinator.
        function: The function.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """

    def __init__(
        self, number: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.number = number
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.value = RemoteValue()
        # The queue's, from when it was put there: one that was put there before a cancellation is not run again.
        self.generation = 0
        leaves = jax.tree.leaves((args, kwargs), is_leaf=lambda leaf: isinstance(leaf, RemoteValue))
        self._needs = [leaf for leaf in leaves if isinstance(leaf, RemoteValue)]

    @property
    def is_ready(self) -> bool:
        """Whether the results of other closures that it needs are there."""
        return all(value.is_ready for value in self._needs)


class Look(Closure):
    """Asks a worker what the next element of its iterator is like, and takes none.

    Args:
        number: What tells it from all others of this coordinator.
        iterator: An iterator of each worker.
    """

    def __init__(self, number: int, iterator: PerWorkerIterator) -> None:
        super().__init__(number, next, (iterator,), {})


class ClosureQueue:
    """Closures, which several threads take and finish.

    Once one has failed, those that wait are cancelled, and whoever schedules or joins next is told, once.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: collections.deque[Closure] = collections.deque()
        self._num_running = 0
        self._error: BaseException | None = None
        self._is_closed = False
        self._num_finished = 0
        self._generation = 0

    @property
    def has_begun(self) -> bool:
        """Whether a closure was run."""
        return self._num_finished > 0

    def put(self, closure: Closure) -> None:
        """Add a closure.

        Raises:
            StrataxError: An earlier one has failed, or nothing can be run any more.
        """
        with self._changed:
            self._raise_error()
            while len(self._waiting) >= MOST_WAITING:
                self._changed.wait(1.0)
                self._raise_error()
            closure.generation = self._generation
            self._waiting.append(closure)
            self._changed.notify_all()

    def get(self, is_wanted: Callable[[], bool]) -> Closure | None:
        """Return the next closure, which is running from now on; None once nobody wants one any more."""
        with self._changed:
            while not self._is_closed and is_wanted():
                # One that needs another's result does not keep a worker waiting: the other may have to be run again.
                found = next((closure for closure in self._waiting if closure.is_ready), None)
                if found is not None:
                    self._waiting.remove(found)
                    self._num_running += 1
                    return found
                self._changed.wait(0.5)
            return None

    def put_back(self, closure: Closure) -> None:
        """Let another worker run a closure; it comes before all others."""
        with self._end_closure():
            if self._error is not None or closure.generation != self._generation:
                closure.value.fail(_make_cancelled_error())
            else:
                self._waiting.appendleft(closure)

    def note_finished(self) -> None:
        """Note that a closure was run."""
        with self._end_closure():
            self._num_finished += 1

    def note_failure(self, error: BaseException) -> None:
        """Note that a closure has failed: those that wait are cancelled."""
        with self._end_closure():
            self._fail(error)

    def fail(self, error: BaseException) -> None:
        """Note that nothing can be run any more."""
        with self._changed:
            self._fail(error)
            self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        for closure in self._waiting:
            closure.value.fail(_make_cancelled_error())
        self._waiting.clear()

    @contextlib.contextmanager
    def _end_closure(self) -> Iterator[None]:
        with self._changed:
            self._num_running -= 1
            yield
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until everything was run.

        Args:
            seconds: For how long at most.

        Returns:
            Whether it was.

        Raises:
            StrataxError: A closure has failed.
        """
        with self._changed:
            done = self._changed.wait_for(lambda: self._is_done(), seconds)
            if done:
                self._raise_error()
            return done

    def is_done(self) -> bool:
        """Return whether everything was run; raise what failed."""
        with self._changed:
            self._raise_error()
            return self._is_done()

    def cancel(self) -> None:
        """Cancel what waits, and forget what failed: whoever scheduled it does not want it any more."""
        with self._changed:
            self._fail(_make_cancelled_error())
            self._error = None
            self._generation += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Give out no more closures."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _is_done(self) -> bool:
        return not self._waiting and not self._num_running

    def _raise_error(self) -> None:
        if self._error is not None:
            # Told once; what is scheduled from now on is run.
            error, self._error = self._error, None
            raise error


def _make_cancelled_error() -> CancelledError:
    return CancelledError(
        "The step was not run: another one that was scheduled before has failed. See the error that schedule or join "
        "has raised, and schedule it again."
    )
