"""`Gate`: holds steps back on one server, between two steps, while a state of all servers is marked.

A step changes shards of several servers, and reaches them at different times. A state is one if each of its steps was
made on all of its servers, or on none. Whoever wants such a state holds all servers, learns which steps have reached
any of them, lets these through to the others, and has each server mark what it keeps then.
"""

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Collection, Iterator, Sequence

from stratax.errors import AbortedError

# After this time steps go on though nobody has said so, in seconds: who held them may stand still.
MOST_HELD_SECONDS = 60.0

# Of how many steps it is remembered that they have come.
_MOST_SEEN = 10_000


@dataclasses.dataclass(slots=True, eq=False)
class _Hold:
    """A hold: who has it, until when, and the steps that go on all the same."""

    stream: str
    until: float
    allowed: Collection[str] = ()


class Gate:
    """What steps pass on their way to a server's shards."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._hold: _Hold | None = None
        self._num_running = 0
        # The last step of each stream, with its servers: a task begins a step when all have answered to the one before,
        # so that no earlier one can be missing anywhere.
        self._last: dict[str, tuple[str, Sequence[int]]] = {}
        self._streams: dict[str, str] = {}
        self._seen: collections.OrderedDict[str, None] = collections.OrderedDict()

    @contextlib.contextmanager
    def step(self, stream: str, name: str, servers: Sequence[int]) -> Iterator[None]:
        """Let a step pass: wait while steps are held back, and note that it has come.

        Args:
            stream: Which stream of which task it comes over.
            name: What tells it from all other steps.
            servers: The numbers of all servers that it changes.
        """
        with self._changed:
            while self._is_held(name):
                self._changed.wait(1.0)
            self._num_running += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_running -= 1
                self._note(stream, name, servers)
                self._changed.notify_all()

    def hold(self, stream: str) -> dict[str, Sequence[int]]:
        """Hold steps back from now on, and wait for those that run. Another hold is waited for.

        Args:
            stream: Who holds them. They go on when that stream ends.

        Returns:
            The last step of each stream, with the numbers of its servers.
        """
        with self._changed:
            while self._is_held("") and self._hold is not None and self._hold.stream != stream:
                self._changed.wait(1.0)
            self._hold = _Hold(stream, time.monotonic() + MOST_HELD_SECONDS)
            self._changed.wait_for(lambda: not self._num_running)
            return dict(self._last.values())

    def wait_for(self, stream: str, wanted: Collection[str], seconds: float) -> list[str]:
        """Let some steps through, and wait until they have come.

        Args:
            stream: Who holds the others.
            wanted: The names of the steps.
            seconds: For how long they are waited for.

        Returns:
            Those that have not come.

        Raises:
            AbortedError: Steps are not held any more.
        """
        with self._changed:
            self._check(stream).allowed = wanted
            self._changed.notify_all()
            self._changed.wait_for(lambda: all(name in self._seen for name in wanted), seconds)
            self._check(stream).allowed = ()
            self._changed.wait_for(lambda: not self._num_running)
            return [name for name in wanted if name not in self._seen]

    def release(self, stream: str) -> bool:
        """Let steps go on; return whether they were still held."""
        with self._changed:
            if self._hold is None or self._hold.stream != stream:
                return False
            self._hold = None
            self._changed.notify_all()
            return True

    def forget(self, names: Collection[str]) -> None:
        """Wait for steps no more that some servers will never get."""
        with self._changed:
            for name in names:
                self._last.pop(self._streams.pop(name, ""), None)

    def _is_held(self, name: str) -> bool:
        if self._hold is not None and time.monotonic() >= self._hold.until:
            self._hold = None
        return self._hold is not None and name not in self._hold.allowed

    def _check(self, stream: str) -> _Hold:
        if not self._is_held("") or self._hold is None or self._hold.stream != stream:
            raise AbortedError(
                "Steps are not held back any more. Expected: a state of all servers is marked within "
                f"{MOST_HELD_SECONDS:g} s, over one connection. Mark it again."
            )
        return self._hold

    def _note(self, stream: str, name: str, servers: Sequence[int]) -> None:
        self._seen[name] = None
        if len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)
        # A step whose task was lost, and that comes over another's stream: it is waited for there.
        before = self._streams.pop(name, stream)
        if before != stream:
            self._last.pop(before, None)
        if stream in self._last:
            self._streams.pop(self._last.pop(stream)[0], None)
        if len(servers) > 1:
            self._last[stream] = name, servers
            self._streams[name] = stream
