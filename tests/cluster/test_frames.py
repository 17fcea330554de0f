"""Messages between tasks: what is written is read, and nothing else."""

import asyncio
import struct

import pytest

from stratax.cluster._frames import MAGIC, FrameError, encode, read_frame, read_hello


def reading(read, data, *arguments):
    """What `read` makes of a connection on which `data` came."""

    async def run():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await read(reader, *arguments)

    return asyncio.run(run())


def test_what_is_written_is_read():
    payload = bytes(range(256)) * 20_000
    heard = []
    frame = encode({"t": "gather", "id": 3}, payload)
    assert reading(read_frame, frame, lambda: heard.append(1)) == ({"t": "gather", "id": 3}, payload)
    assert len(heard) > 2
    assert reading(read_frame, encode({})) == ({}, b"")
    assert reading(read_hello, MAGIC + encode({"kind": "task"})) == {"kind": "task"}


@pytest.mark.parametrize(
    ("read", "data", "message"),
    [
        (read_hello, b"GET / HTTP/1.1\r\n\r\n", "not a task of Stratax"),
        (read_hello, MAGIC + struct.pack(">II", 2**31, 0), "impossible length"),
        (read_hello, MAGIC + struct.pack(">II", 2, 1) + b"{}x", "impossible length"),
        (read_hello, MAGIC + struct.pack(">II", 4, 0) + b"null", "not an object"),
        (read_frame, struct.pack(">II", 2**31, 0), "impossible length"),
        (read_frame, struct.pack(">II", 2, 2**32 - 1) + b"{}", "impossible length"),
        (read_frame, struct.pack(">II", 2, 0) + b"\xff\xfe", "not JSON"),
        (read_hello, MAGIC + struct.pack(">II", 10**6, 0) + b"[" * 10**6, "not JSON"),
    ],
)
def test_what_is_no_message_is_refused(read, data, message):
    with pytest.raises(FrameError, match=message):
        reading(read, data)


@pytest.mark.parametrize("data", [b"", MAGIC[:3], MAGIC + b"\0\0"])
def test_a_connection_that_ends_too_early_is_noticed(data):
    with pytest.raises(asyncio.IncompleteReadError):
        reading(read_hello, data)
