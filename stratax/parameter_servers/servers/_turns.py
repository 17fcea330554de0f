"""`StepTurns`: how stale the gradients of steps are, and who has to wait so that none is too stale.

The staleness of a step is how many others have changed the variables between its pull and its push. A bound holds by
admission: a step begins only if all that run, and itself, stay within their bounds whatever order they end in. So no
gradient that is within the bound is ever refused, and where nothing runs a step can begin.
"""

import collections
import dataclasses
import logging
import threading
import time

from stratax.errors import ClusterTimeoutError

# After this time without its push, or ten times what the longest step has taken, a step that others wait for is given
# up, in seconds: its task may stand still.
LEAST_PATIENCE_SECONDS = 30.0
_FACTOR = 10
# How long a step waits for its turn, in seconds: less than a task waits for an answer.
_MOST_WAIT_SECONDS = 240.0
# How often a step that waits looks whether others stand still, in seconds.
_LOOK_SECONDS = 1.0
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, slots=True)
class _Begun:
    """A step that has begun: over which stream, when, behind how many others, and its bound."""

    stream: str
    since: float
    made_before: int
    bound: int


class StepTurns:
    """Which steps run, how many were made, and how stale they were.

    Example:
        >>> turns = StepTurns()
        >>> turns.begin("a", "worker 0", bound=1)
        >>> turns.begin("b", "worker 1", bound=1)
        >>> turns.claim("a"), turns.end("a"), turns.claim("b"), turns.end("b")
        (True, None, True, None)
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: dict[str, _Begun] = {}
        self._waiting: list[str] = []
        self._claimed: dict[str, _Begun] = {}
        self._num_made = 0
        self._longest = 0.0
        # How many changes there had been when a stream has pulled, until it pushes.
        self._pulled: dict[str, int] = {}
        self._num_changes = 0
        self._found: collections.Counter[int] = collections.Counter()

    @property
    def staleness(self) -> dict[int, int]:
        """How many steps had how many others made between their pull and their push."""
        with self._changed:
            return dict(sorted(self._found.items()))

    def note_pull(self, stream: str) -> None:
        """Note that a stream has pulled; of several pulls before a push the last one counts."""
        with self._changed:
            self._pulled[stream] = self._num_changes

    def note_push(self, stream: str) -> None:
        """Note that a stream's step has changed variables."""
        with self._changed:
            before = self._pulled.pop(stream, self._num_changes)
            self._found[self._num_changes - before] += 1
            self._num_changes += 1

    def begin(self, step: str, stream: str, bound: int) -> None:
        """Wait until a step may begin.

        Args:
            step: What tells it from all others.
            stream: Which stream of which task it comes over.
            bound: How many others may change variables before it does.

        Raises:
            ClusterTimeoutError: Its turn does not come.
        """
        until = time.monotonic() + _MOST_WAIT_SECONDS
        with self._changed:
            self._waiting.append(step)
            try:
                # Who has come first is first, so that nobody waits for ever.
                while self._waiting[0] != step or not self._may_begin(bound):
                    self._give_up_late()
                    if time.monotonic() > until:
                        raise ClusterTimeoutError(
                            f"A step has waited {_MOST_WAIT_SECONDS:g} s for its turn. Expected: that the steps of "
                            f"other workers end. Received: {len(self._running)} that run. See the workers' output, or "
                            "allow a larger max_staleness."
                        )
                    self._changed.wait(_LOOK_SECONDS)
                self._running[step] = _Begun(stream, time.monotonic(), self._num_made, bound)
            finally:
                self._waiting.remove(step)
                self._changed.notify_all()

    def claim(self, step: str) -> bool:
        """Return whether a step may push: it has not been given up."""
        with self._changed:
            begun = self._running.get(step)
            if begun is None:
                return False
            self._claimed[step] = begun
            return True

    def end(self, step: str) -> None:
        """Note that a step has pushed, or was broken off."""
        with self._changed:
            begun = self._running.pop(step, None)
            if begun is None:
                return
            if self._claimed.pop(step, None) is not None:
                self._num_made += 1
            self._longest = max(self._longest, time.monotonic() - begun.since)
            self._changed.notify_all()

    def stream_ended(self, stream: str) -> None:
        """Give up what a stream has begun: its task is gone, or begins it again."""
        with self._changed:
            self._pulled.pop(stream, None)
            for step in [step for step, begun in self._running.items() if begun.stream == stream]:
                self._drop(step)
            self._changed.notify_all()

    def _may_begin(self, bound: int) -> bool:
        running = len(self._running)
        return running <= bound and all(
            self._num_made - begun.made_before + running <= begun.bound for begun in self._running.values()
        )

    def _give_up_late(self) -> None:
        patience = max(LEAST_PATIENCE_SECONDS, _FACTOR * self._longest)
        for step, begun in list(self._running.items()):
            late = time.monotonic() - begun.since
            # What pushes already is waited for: it ends soon, or its connection does.
            if late > patience and step not in self._claimed:
                _logger.warning(
                    "A step has not ended in %.0f s, and others go on without it. What it computes is not used; its "
                    "worker computes it again.",
                    late,
                )
                self._drop(step)

    def _drop(self, step: str) -> None:
        self._running.pop(step, None)
        if self._claimed.pop(step, None) is not None:
            # Some of it may have been made.
            self._num_made += 1
