"""`Servers`: the connections of a task to all parameter servers, asked together (distribute layer)."""

import contextlib
import functools
import itertools
import logging
import math
import threading
import time
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stratax.base.spare_threads import keep_spare_threads, start_thread
from stratax.errors import AbortedError, StrataxError
from stratax.parameter_servers.servers import Certificates, Connection, Deadlines


class Request(NamedTuple):
    """What one server is asked.

    Attributes:
        header: What to do.
        arrays: With what.
    """

    header: dict[str, Any]
    arrays: Sequence[np.ndarray] = ()


# How long a task may take to hear that the job is over, in seconds.
_END_SECONDS = 5.0

# For how long one that has not been there yet is waited for then, in seconds: a task needs some to start.
_START_SECONDS = 15.0

# How many are told at once at the end of the program.
_MOST_TOLD_AT_ONCE = 16

_streams = itertools.count()
_steps = itertools.count()
_marks = itertools.count()
# What tells this start of this task from all others.
_task = uuid.uuid4().hex


# How long steps that have reached some servers are waited for while others are held back, in seconds: who makes them
# may have to make a step first that is held back.
_ONE_WAIT_SECONDS = 1.0
_PAUSE_SECONDS = 0.1

# How long a state that is one is tried to be had, in seconds. Then a step is given up whose task was lost in between.
MOST_MARKING_SECONDS = 30.0
_logger = logging.getLogger("stratax")


def new_step() -> str:
    """Return a name for a step that this task makes."""
    return f"{_task}/{next(_steps)}"


class Servers:
    """Asks several parameter servers at once.

    Methods may be called from several threads, one after another.

    Args:
        addresses: Where the servers listen, ``"host:port"``, by number.
        certificates: What this task shows them, and asks of them.
        timeout: How long an answer may take, in seconds.
    """

    def __init__(self, addresses: Sequence[str], certificates: Certificates, *, timeout: float) -> None:
        self._lock = threading.RLock()
        self._deadlines = Deadlines()
        stream = next(_streams)
        self._connections = [
            Connection(
                f"/job:ps/task:{index}",
                address,
                certificates,
                self._deadlines,
                task=_task,
                stream=stream,
                timeout=timeout,
            )
            for index, address in enumerate(addresses)
        ]
        # The servers that have been sent something whose answer nobody has waited for yet.
        self._unfinished: list[int] = []

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def unseen(self) -> list[int]:
        """The numbers of servers that have not answered yet."""
        return [number for number, each in enumerate(self._connections) if not each.has_answered]

    def ask(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        """Ask servers, and wait for all of them.

        Args:
            requests: What to ask, by the number of the server.

        Returns:
            The answers, by the number of the server.

        Raises:
            PeerLostError: A server does not answer any more, or was started anew.
            ClusterTimeoutError: One does not answer in time.
            StrataxError: One can't do what it was asked.
        """
        with self._lock:
            self.settle()
            begun: list[int] = []
            answers: dict[int, Any] = {}
            try:
                for server, request in requests.items():
                    self._connections[server].begin(*request)
                    begun.append(server)
            finally:
                failure: Exception | None = None
                for server in begun:
                    try:
                        answers[server] = self._connections[server].finish()
                    except Exception as error:
                        # The others' answers are taken first: they would be taken for those to the next message.
                        failure = failure or error
                if failure is not None:
                    raise failure
            return answers

    def tell(self, requests: Mapping[int, Request]) -> None:
        """Ask servers without waiting; whatever is asked next waits first, and raises what went wrong.

        Args:
            requests: What to ask, by the number of the server. The arrays stay as they are until then.
        """
        with self._lock:
            self.settle()
            for server, request in requests.items():
                self._connections[server].begin(*request)
                self._unfinished.append(server)

    def settle(self) -> None:
        """Wait until everything that servers have been told is done."""
        with self._lock:
            failure: Exception | None = None
            while self._unfinished:
                try:
                    self._connections[self._unfinished.pop()].finish()
                except Exception as error:
                    failure = failure or error
            if failure is not None:
                raise failure

    @contextlib.contextmanager
    def mark_state(self) -> Iterator[str]:
        """Mark a state of all servers, for who reads by the mark inside the block; give the mark.

        Each step has changed all of its servers in that state, or none. Steps are held back for some round trips, not
        while the state is read.

        Raises:
            AbortedError: Connections have broken again and again.
            PeerLostError: A server is lost.
        """
        mark = self._mark()
        try:
            yield mark
        finally:
            # A server that is lost is named by whatever is asked next.
            with contextlib.suppress(StrataxError):
                self._ask_all({"op": "unmark", "mark": mark})

    def _mark(self) -> str:
        number, until = next(_marks), time.monotonic() + MOST_MARKING_SECONDS
        while True:
            gives_up = time.monotonic() >= until
            try:
                mark, missing = self._try_to_mark(number, gives_up=gives_up)
            except AbortedError:
                if gives_up:
                    raise
            else:
                if not missing:
                    return mark
                if gives_up:
                    _logger.warning(
                        "%d step(s) have changed some parameter servers and not the others: the tasks that made them "
                        "were lost in between, and nobody makes them again. They are saved as they are.",
                        len(missing),
                    )
                    return mark
            time.sleep(_PAUSE_SECONDS)

    def _try_to_mark(self, number: int, *, gives_up: bool) -> tuple[str, set[str]]:
        """Mark a state; return the mark, and the steps that have not reached all servers."""
        # In one go: a step of another thread of this task would be held back, and this thread wait for its turn.
        with self._lock:
            if len(self) == 1:
                return self.ask({0: Request({"op": "mark", "steps": None, "which": number})})[0].header[
                    "mark"
                ], set()
            missing: set[str] = set()
            try:
                # The first server first: of several tasks that mark, one has all of them.
                held = [*self.ask({0: Request({"op": "hold"})}).values()]
                held += self.ask({server: Request({"op": "hold"}) for server in range(1, len(self))}).values()
                steps = {name: where for answer in held for name, where in answer.header["steps"].items()}
                answers = self.ask(
                    {
                        server: Request(
                            {
                                "op": "mark",
                                "steps": [name for name, where in steps.items() if server in where],
                                "seconds": _ONE_WAIT_SECONDS,
                                "which": number,
                            }
                        )
                        for server in range(len(self))
                    }
                )
                missing = {name for answer in answers.values() for name in answer.header["missing"]}
            finally:
                forgotten = sorted(missing) if gives_up else []
                released = self._ask_all({"op": "release", "forgotten": forgotten})
            if not all(answer.header["was_held"] for answer in released.values()):
                raise AbortedError("Steps went on while a state of all servers was marked. Save again.")
            return answers[0].header["mark"], missing

    def _ask_all(self, header: dict[str, Any]) -> dict[int, Any]:
        return self.ask({server: Request(header) for server in range(len(self))})

    def disconnect(self) -> None:
        """End all connections; what is asked next makes new ones."""
        with self._lock:
            for connection in self._connections:
                connection.close()

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._deadlines.close()


def prepare_end(num_tasks: int) -> None:
    """Have what `end_tasks` needs where Python starts no threads any more.

    Args:
        num_tasks: How many tasks there will be to tell.
    """
    # A further one looks after the time limits.
    keep_spare_threads("telling", min(num_tasks, _MOST_TOLD_AT_ONCE) + 1)


def end_tasks(
    tasks: Iterable[tuple[str, str]],
    certificates: Certificates,
    error: BaseException | None = None,
    awaited: Container[str] = (),
) -> None:
    """Tell tasks that the job is over: those that wait in `Server.join` end.

    Args:
        tasks: Their names and addresses. Some may have ended before.
        certificates: What this task shows them, and asks of them.
        error: What this task's program has failed with, which they name then.
        awaited: The names of those that have not been there yet: they may be about to start, and would serve for ever.
    """
    header = {"op": "end"} if error is None else {"op": "end", "error": f"{type(error).__name__}: {error}"}
    deadlines = Deadlines()

    def tell(name: str, address: str) -> None:
        patience = _START_SECONDS if name in awaited else 0.0
        connection = Connection(
            name,
            address,
            certificates,
            deadlines,
            task=uuid.uuid4().hex,
            timeout=max(_END_SECONDS, patience),
            patience=patience,
        )
        with contextlib.suppress(StrataxError):
            connection.ask(header)
        connection.close()

    told = [start_thread(functools.partial(tell, *task), f"end-{task[0]}") for task in tasks]
    # Each ends by itself: this is for one that does not, at what should have ended it.
    last = time.monotonic() + (_START_SECONDS + _END_SECONDS) * math.ceil(len(told) / _MOST_TOLD_AT_ONCE)
    for each in told:
        each.wait(max(0.0, last - time.monotonic()))
    deadlines.close()


def by_server(items: Iterable[tuple[int, Any]]) -> dict[int, list[Any]]:
    """Group items by the numbers of servers."""
    found: dict[int, list[Any]] = {}
    for server, item in items:
        found.setdefault(server, []).append(item)
    return found
