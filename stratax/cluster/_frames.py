"""How the tasks of a cluster write messages on a connection (cluster layer).

A frame is two lengths, a JSON object and bytes. Nothing is ever unpickled, and lengths have limits, so whatever
connects by mistake or in bad faith can neither run anything nor fill the memory.
"""

import asyncio
import json
import struct
from collections.abc import Callable
from typing import Any

MAGIC = b"STRATAX1"
"""What every connection begins with."""

_LENGTHS = struct.Struct(">II")
_MAX_HEADER = 16 * 1024 * 1024
_MAX_PAYLOAD = 2**31
_CHUNK = 1024 * 1024
_MAX_HELLO = 4 * 1024 * 1024


class FrameError(ConnectionError):
    """What came over a connection is no message of a Stratax task."""


def encode(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """Writes a frame.

    Args:
        header: What can be written as JSON.
        payload: Bytes that travel with it.
    """
    text = json.dumps(header, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(text), len(payload)) + text + payload


async def read_frame(
    reader: asyncio.StreamReader, on_data: Callable[[], None] = lambda: None
) -> tuple[dict[str, Any], bytes]:
    """Reads a frame.

    Args:
        reader: The connection.
        on_data: Called whenever a part of it has come: a long frame is a sign of life before it is complete.

    Returns:
        The header and the payload.

    Raises:
        FrameError: If it is none.
        asyncio.IncompleteReadError: If the connection ends.
    """
    header_size, payload_size = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    if header_size > _MAX_HEADER or payload_size > _MAX_PAYLOAD:
        raise FrameError("a message of impossible length")
    header = _object(await reader.readexactly(header_size))
    on_data()
    payload = bytearray()
    while len(payload) < payload_size:
        payload += await reader.readexactly(min(payload_size - len(payload), _CHUNK))
        on_data()
    return header, bytes(payload)


async def read_hello(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Reads how a connection introduces itself.

    Args:
        reader: The connection.

    Returns:
        The header of its first frame.

    Raises:
        FrameError: If it is no Stratax task.
        asyncio.IncompleteReadError: If the connection ends.
    """
    if await reader.readexactly(len(MAGIC)) != MAGIC:
        raise FrameError("not a task of Stratax")
    header_size, payload_size = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    if header_size > _MAX_HELLO or payload_size:
        raise FrameError("a first message of impossible length")
    return _object(await reader.readexactly(header_size))


def _object(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError("a message that is not JSON") from error
    if not isinstance(header, dict):
        raise FrameError("a message that is not an object")
    return header
