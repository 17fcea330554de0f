"""Carrying JAX' own traffic between tasks over connections that Stratax controls (cluster layer).

JAX' coordination service ends a process with SIGABRT as soon as its connection to process 0 closes, before any of our
code could say what happened, and its server would share its port with another job's. So it listens on, and its
clients connect to, a socket inside of the own host, and the bytes travel through here: the port of TF_CONFIG is held
by Stratax alone, a stranger's bytes never reach JAX, and a lost peer is reported by Stratax.
"""

import asyncio
import contextlib
import os
import secrets

_CHUNK = 256 * 1024


def local_address(role: str) -> str:
    """Returns a new name for a socket inside of this host, in Linux' abstract name space: no file is left behind.

    Args:
        role: A word that tells people what it is for.
    """
    return f"stratax-{role}-{os.getpid()}-{secrets.token_hex(8)}"


async def carry(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    to: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    """Carries bytes both ways until one of the sides ends.

    Args:
        reader: What comes from one side.
        writer: What goes to it.
        to: The other side.
    """
    ways = [asyncio.ensure_future(_one_way(reader, to[1])), asyncio.ensure_future(_one_way(to[0], writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _one_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
