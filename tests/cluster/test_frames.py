"""Messages between tasks: what is written is read, and nothing else."""

import asyncio
import hashlib
import struct

import pytest

from stratax.cluster._frames import FrameError, encode, read_frame
from stratax.cluster._handshake import TAG_SIZE, AuthenticationError, Seal

KEY = b"of one direction"


def reading(data, *arguments, **limits):
    """What is read from a connection on which `data` came."""

    async def run():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await read_frame(reader, Seal(KEY), *arguments, **limits)

    return asyncio.run(run())


def sealed(frame):
    """A frame as the first message of its direction."""
    return frame.content + Seal(KEY).tag(frame.digest)


def by_hand(content):
    """A sealed message of any content."""
    empty = hashlib.sha256(b"").digest()
    return content + Seal(KEY).tag(hashlib.sha256(content + empty).digest())


def test_what_is_written_is_read():
    payload = bytes(range(256)) * 20_000
    heard = []
    frame = encode({"t": "gather", "id": 3}, payload)
    assert reading(sealed(frame), lambda: heard.append(1)) == ({"t": "gather", "id": 3}, payload)
    assert len(heard) > 2
    assert reading(sealed(encode({}))) == ({}, b"")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack(">II", 2**31, 0), "impossible length"),
        (struct.pack(">II", 2, 2**32 - 1) + b"{}", "impossible length"),
        (by_hand(struct.pack(">II", 2, 0) + b"\xff\xfe"), "not JSON"),
        (by_hand(struct.pack(">II", 10**6, 0) + b"[" * 10**6), "not JSON"),
        (by_hand(struct.pack(">II", 4, 0) + b"null"), "not an object"),
    ],
)
def test_what_is_no_message_is_refused(data, message):
    with pytest.raises(FrameError, match=message):
        reading(data)


def test_a_message_may_have_a_limit_of_its_own():
    frame = sealed(encode({}, bytes(98)))
    assert reading(frame, longest=100)[1] == bytes(98)
    with pytest.raises(FrameError, match="impossible length"):
        reading(frame, longest=99)


def test_a_message_of_which_any_byte_was_changed_is_refused():
    whole = sealed(encode({"t": "x"}, b"payload"))
    for place in range(8, len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        with pytest.raises(AuthenticationError, match="not authentic"):
            reading(bytes(changed))
    # Another division of the same bytes is another message.
    with pytest.raises(AuthenticationError, match="not authentic"):
        reading(struct.pack(">II", 8, 8) + whole[8:])


def test_a_connection_that_ends_too_early_is_noticed():
    whole = sealed(encode({"t": "x"}, b"payload"))
    for size in (0, 3, 8, 12, len(whole) - TAG_SIZE, len(whole) - 1):
        with pytest.raises(asyncio.IncompleteReadError):
            reading(whole[:size])
