"""Carrying JAX' own traffic between tasks over connections that Stratax controls (cluster layer).

JAX' coordination service ends a process with SIGABRT as soon as its connection to process 0 closes, before any of our
code could say what happened, and its server would share its port with another job's. So it listens on, and its
clients connect to, a socket inside of the own host that only this user can reach (see `_sockets`), and the bytes travel
through here: the port of TF_CONFIG is held by Stratax alone, a stranger's bytes never reach JAX, which would end all
processes, and a lost peer is reported by Stratax.
"""

import asyncio
import contextlib

from stratax.cluster._channel import Channel
from stratax.cluster._frames import encode

# Small enough that a heartbeat's turn comes soon, and large enough that sealing costs little.
_CHUNK = 256 * 1024


async def carry(channel: Channel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes between another task and a local socket until one of them ends.

    Args:
        channel: The connection to the other task.
        reader: What comes from the local socket.
        writer: What goes to it.
    """
    directions = [
        asyncio.ensure_future(_send(reader, channel)),
        asyncio.ensure_future(_receive(channel, writer)),
    ]
    try:
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for direction in directions:
            direction.cancel()
        # Cancelling is a request: both have to end before the connection is closed under them.
        await asyncio.gather(*directions, return_exceptions=True)


async def _send(reader: asyncio.StreamReader, channel: Channel) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            channel.write(encode({}, data))
            # Without this, a slow receiver would have everything collected in memory.
            await channel.drain()


async def _receive(channel: Channel, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, EOFError):
        while True:
            _, data = await channel.read()
            writer.write(data)
            await writer.drain()
