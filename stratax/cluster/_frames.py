"""How the tasks of a cluster write messages on a connection (cluster layer).

A frame is two lengths, a JSON object, bytes, and a tag. Nothing is ever unpickled, lengths have limits, and nothing is
read as JSON before the tag has shown that it comes from a task of the cluster.
"""

import asyncio
import dataclasses
import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

from stratax.cluster._handshake import TAG_SIZE, Seal

_LENGTHS = struct.Struct(">II")
# Far above what tasks send. A length beyond them is damage or malice, and must not make this process
# allocate.
_MAX_HEADER = 16 * 1024 * 1024
_MAX_PAYLOAD = 2**31
_CHUNK = 1024 * 1024


class FrameError(ConnectionError):
    """What came over a connection is no message of a Stratax task."""


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """A message, ready for any number of connections, each of which seals it for itself.

    Attributes:
        content: The lengths, the header and the payload.
        digest: The SHA-256 of the lengths, the header and the payload's SHA-256: what is sealed, so that a long
            payload that goes to many tasks is hashed once.
    """

    content: bytes
    digest: bytes


def encode(header: dict[str, Any], payload: bytes = b"", hashed: bytes | None = None) -> Frame:
    """Write a frame.

    Args:
        header: What can be written as JSON.
        payload: Bytes that travel with it.
        hashed: The payload's SHA-256, if it is known.
    """
    # Without spaces: heartbeats are frequent, and go from the coordinator to every task.
    text = json.dumps(header, separators=(",", ":")).encode()
    start = _LENGTHS.pack(len(text), len(payload)) + text
    return Frame(start + payload, hashlib.sha256(start + (hashed or sha256(payload))).digest())


def sha256(payload: bytes) -> bytes:
    """Return the SHA-256 of a payload."""
    return hashlib.sha256(payload).digest()


async def read_frame(
    reader: asyncio.StreamReader,
    seal: Seal,
    on_data: Callable[[], None] = lambda: None,
    *,
    longest: int = _MAX_HEADER + _MAX_PAYLOAD,
) -> tuple[dict[str, Any], bytes]:
    """Read a frame.

    Args:
        reader: The connection.
        seal: The seal of what comes over it.
        on_data: Called whenever a part of it has come: a long frame is a heartbeat before it is complete.
        longest: The bytes that it may have.

    Returns:
        The header and the payload.

    Raises:
        FrameError: If it is none.
        AuthenticationError: If it does not come from the other end of this connection, or not in its turn.
        asyncio.IncompleteReadError: If the connection ends.
    """
    lengths = await reader.readexactly(_LENGTHS.size)
    header_size, payload_size = _LENGTHS.unpack(lengths)
    # Before anything is read by these lengths, as the tag comes last.
    if header_size > _MAX_HEADER or payload_size > _MAX_PAYLOAD or header_size + payload_size > longest:
        raise FrameError("a message of impossible length")
    text = await reader.readexactly(header_size)
    on_data()
    payload, hashed = bytearray(), hashlib.sha256()
    # In pieces, each of which counts as a sign of life: a large value may take longer than a silence may
    # last.
    while len(payload) < payload_size:
        chunk = await reader.readexactly(min(payload_size - len(payload), _CHUNK))
        hashed.update(chunk)
        payload += chunk
        on_data()
    digest = hashlib.sha256(lengths + text + hashed.digest()).digest()
    # Only now is it known who wrote this; the header is parsed behind it.
    seal.check(digest, await reader.readexactly(TAG_SIZE))
    return _object(text), bytes(payload)


def _object(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    # Deeply nested JSON exhausts Python's stack instead of being invalid.
    except (ValueError, RecursionError) as error:
        raise FrameError("a message that is not JSON") from error
    if not isinstance(header, dict):
        raise FrameError("a message that is not an object")
    return header
