"""A connection between two tasks that have proved to each other that they belong together (cluster layer)."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from stratax.cluster._frames import Frame, read_frame
from stratax.cluster._handshake import ANSWER_SIZE, AuthenticationError, ClientHandshake, Seals

_ANSWER_SECONDS = 10.0
# Up to here joining content and tag is cheaper than a second write.
_SHORT = 64 * 1024


class UnansweredError(ConnectionError):
    """The other side closed the connection without a word, as a coordinator does to those without the key."""


class Channel:
    """A connection whose messages are authenticated.

    Args:
        reader: What comes.
        writer: What goes.
        seals: What the handshake gave.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seals: Seals) -> None:
        self._reader = reader
        self._writer = writer
        self._seals = seals

    def write(self, frame: Frame) -> None:
        """Send a message, unless the connection is closed; on the event loop only.

        Args:
            frame: The message.
        """
        # The other side's end is found out by reading; a message to it is lost either way.
        if self._writer.is_closing():
            return
        # Tags are numbered: messages have to be written in the order in which they are sealed, so on one
        # thread.
        tag = self._seals.send.tag(frame.digest)
        if len(frame.content) < _SHORT:
            self._writer.write(frame.content + tag)
        else:
            self._writer.write(frame.content)
            self._writer.write(tag)

    async def read(
        self, on_data: Callable[[], None] = lambda: None, **limits: int
    ) -> tuple[dict[str, Any], bytes]:
        """Wait for the next message; see `read_frame`."""
        return await read_frame(self._reader, self._seals.receive, on_data, **limits)

    async def drain(self) -> None:
        """Wait until the connection has taken most of what was sent."""
        await self._writer.drain()

    def close(self) -> None:
        """Close the connection once what was sent has gone."""
        self._writer.close()


async def open_channel(host: str, port: int, key: bytes, kind: bytes) -> Channel:
    """Connect, and have the other side prove that it knows the key.

    Args:
        host: The host of the coordinator.
        port: Its port.
        key: The cluster's key.
        kind: What the connection is for.

    Raises:
        UnansweredError: If the other side closes the connection without a word.
        AuthenticationError: If it is another program, or does not know the key.
        TimeoutError: If it says nothing for 10 seconds.
        OSError: If it can't be reached.
    """
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        handshake = ClientHandshake(key, kind)
        writer.write(handshake.hello)
        answer = await asyncio.wait_for(_answer(reader), _ANSWER_SECONDS)
        proof, seals = handshake.finish(answer)
        writer.write(proof)
    except BaseException:
        writer.close()
        raise
    return Channel(reader, writer, seals)


async def _answer(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readexactly(ANSWER_SIZE)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise AuthenticationError("another program") from error
        raise UnansweredError("it closes the connection without an answer") from error
