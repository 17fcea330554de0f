"""`Servers`: the connections of a task to all parameter servers, asked together (distribute layer)."""

import itertools
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stratax.servers import Certificates, Connection, Deadlines


class Request(NamedTuple):
    """What one server is asked.

    Attributes:
        header: What to do.
        arrays: With what.
    """

    header: dict[str, Any]
    arrays: Sequence[np.ndarray] = ()


_streams = itertools.count()
# What tells this start of this task from all others.
_task = uuid.uuid4().hex


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

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._deadlines.close()


def by_server(items: Iterable[tuple[int, Any]]) -> dict[int, list[Any]]:
    """Group items by the numbers of servers."""
    found: dict[int, list[Any]] = {}
    for server, item in items:
        found.setdefault(server, []).append(item)
    return found
