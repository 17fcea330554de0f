"""Who may come in: accepts connections and lets those pass that know the cluster's key (cluster layer).

A connection costs next to nothing until then: a socket, and the few bytes of a handshake. There may be so many, and so
many of one host; where there are more, the oldest of them give way. Who knows the key sends all that proves it with his
first message, mostly before he is looked at, so he passes also while others keep the door busy.
"""

import asyncio
import contextlib
import dataclasses
import logging
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

from stratax.cluster._channel import Channel
from stratax.cluster._handshake import (
    HELLO_SIZE,
    MAGIC,
    PROOF_SIZE,
    AuthenticationError,
    Seals,
    ServerHandshake,
)

# How long a new connection may take to prove that it knows the key.
HANDSHAKE_SECONDS = 5.0

# How many connections may be there that have proved nothing yet.
MOST_WAITING = 256

# How many of them may come from one host.
MOST_WAITING_OF_HOST = 64

# Connections that the system keeps until they are accepted: all tasks of a large cluster may come at once.
_BACKLOG = 1024
_AT_ONCE = 16
_PAUSE_SECONDS = 0.1
# `struct linger`: on, with no time, so that closing resets the connection.
_LINGER = struct.pack("ii", 1, 0)
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(eq=False, slots=True)
class _Visitor:
    """A connection that has yet to prove that it knows the key; `task` reads from it."""

    sock: socket.socket
    host: str
    task: asyncio.Task[None] | None = None
    has_passed: bool = False

    def end(self, _: asyncio.Task[None]) -> None:
        """Close the connection, unless it has passed and belongs to a channel."""
        if not self.has_passed:
            self.sock.close()


class Door:
    """Listens, and hands on the connections that know the key. All of it runs on one event loop.

    Args:
        key: The cluster's key.
        enter: What takes a connection that has passed: its kind, and the channel, which it closes.

    Attributes:
        turned_away: How many connections spoke the protocol, and did not know the key.
        last_turned_away: The host that the last of them came from.
    """

    def __init__(self, key: bytes, enter: Callable[[bytes, Channel], Coroutine[Any, Any, None]]) -> None:
        self.turned_away = 0
        self.last_turned_away = ""
        self._key = key
        self._enter = enter
        self._listener: socket.socket | None = None
        # By age, as dictionaries are. Who has sent a valid first message is not driven out by those who have not.
        self._strangers: dict[_Visitor, None] = {}
        self._known: dict[_Visitor, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, listener: socket.socket) -> None:
        """Begin to accept connections.

        Args:
            listener: A bound socket, which belongs to the door from now on.
        """
        # `_accept` takes what is there, and must not wait for more.
        listener.setblocking(False)
        listener.listen(_BACKLOG)
        self._listener = listener
        self._watch(listener)

    async def close(self) -> None:
        """Stop listening and drop all connections, those that have passed too."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _watch(self, listener: socket.socket) -> None:
        if self._listener is listener:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        # A few at a time: those that were accepted are looked at before there are so many that the oldest give way.
        for _ in range(_AT_ONCE):
            try:
                sock, address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(listener, error)
                return
            self._receive(sock, str(address[0]))

    def _rest(self, listener: socket.socket, error: OSError) -> None:
        """Pause after a refused connection (no descriptors left, say): trying again at once keeps this process busy."""
        _logger.debug("No connection can be accepted for %g s: %s.", _PAUSE_SECONDS, error)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener)
        loop.call_later(_PAUSE_SECONDS, self._watch, listener)

    def _receive(self, sock: socket.socket, host: str) -> None:
        sock.setblocking(False)
        visitor = _Visitor(sock, host)
        self._add(visitor, self._strangers)
        visitor.task = asyncio.ensure_future(self._let_in(visitor))
        # The loop itself would not keep it.
        self._tasks.add(visitor.task)
        visitor.task.add_done_callback(self._tasks.discard)
        visitor.task.add_done_callback(visitor.end)

    def _add(self, visitor: _Visitor, waiting: dict[_Visitor, None]) -> None:
        waiting[visitor] = None
        # One host can't crowd out the others: its own oldest connection gives way first.
        of_host = [each for each in waiting if each.host == visitor.host]
        if len(of_host) > MOST_WAITING_OF_HOST:
            self._drive_out(of_host[0], waiting)
        elif len(waiting) > MOST_WAITING:
            self._drive_out(next(iter(waiting)), waiting)

    def _drive_out(self, visitor: _Visitor, waiting: dict[_Visitor, None]) -> None:
        del waiting[visitor]
        with contextlib.suppress(OSError):
            # It is reset, where one that does not know the key is closed: so a task knows that it may try again.
            visitor.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        if visitor.task is not None:
            visitor.task.cancel()

    async def _let_in(self, visitor: _Visitor) -> None:
        try:
            # A connection costs a descriptor, which must not be held by who says nothing.
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                kind, seals = await self._examine(visitor)
        except (OSError, EOFError) as error:
            _logger.debug("A connection from %s was turned away: %r.", visitor.host, error)
            return
        finally:
            self._strangers.pop(visitor, None)
            self._known.pop(visitor, None)
        # From here on the channel closes the socket, not `_Visitor.end`.
        visitor.has_passed = True
        try:
            await self._pass(visitor, kind, seals)
        except (OSError, EOFError) as error:
            _logger.debug("A connection from %s ended: %r.", visitor.host, error)

    async def _examine(self, visitor: _Visitor) -> tuple[bytes, Seals]:
        hello = await _receive_exactly(visitor.sock, HELLO_SIZE, MAGIC)
        try:
            handshake = ServerHandshake(self._key, hello)
        except AuthenticationError:
            self.turned_away += 1
            self.last_turned_away = visitor.host
            raise
        # It knows the key, so it now waits among those that strangers can't drive out.
        self._strangers.pop(visitor)
        self._add(visitor, self._known)
        await asyncio.get_running_loop().sock_sendall(visitor.sock, handshake.answer)
        return handshake.kind, handshake.finish(await _receive_exactly(visitor.sock, PROOF_SIZE))

    async def _pass(self, visitor: _Visitor, kind: bytes, seals: Seals) -> None:
        # Messages are small and answered: Nagle's algorithm would delay each of them.
        visitor.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channel = Channel(*await asyncio.open_connection(sock=visitor.sock), seals)
        try:
            await self._enter(kind, channel)
        finally:
            channel.close()


async def _receive_exactly(sock: socket.socket, size: int, beginning: bytes = b"") -> bytes:
    """Read so many bytes and no more; give up as soon as they do not begin as they should."""
    # A dozen bytes, so that joining them anew costs nothing.
    data = b""
    while len(data) < size:
        chunk = await asyncio.get_running_loop().sock_recv(sock, size - len(data))
        if not chunk:
            raise EOFError("closed before the handshake was complete")
        data += chunk
        if data[: len(beginning)] != beginning[: len(data)]:
            raise AuthenticationError("not a task of Stratax, or of another version")
    return data
