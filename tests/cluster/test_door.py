"""The door: strangers cost little and keep nobody out."""

import asyncio
import contextlib
import gc
import resource
import socket
import struct

import pytest

from stratax.cluster import _door
from stratax.cluster._channel import UnansweredError, open_channel
from stratax.cluster._door import MOST_WAITING, MOST_WAITING_OF_HOST, Door
from stratax.cluster._frames import encode
from stratax.cluster._handshake import HELLO_SIZE, JAX, MAGIC, TASK, AuthenticationError, ClientHandshake

KEY, OTHER = b"k" * 32, b"o" * 32


@contextlib.asynccontextmanager
async def a_door():
    """A door at a free port, which echoes the first message of whoever passes; gives it and its address."""

    async def enter(kind, channel):
        header, payload = await channel.read()
        channel.write(encode({**header, "kind": kind.decode()}, payload))
        await channel.drain()
        with contextlib.suppress(asyncio.IncompleteReadError):
            await channel.read()

    door = Door(KEY, enter)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    door.open(listener)
    try:
        yield door, listener.getsockname()
    finally:
        await door.close()


async def passes(address, kind=TASK, size=1):
    """Whether one who knows the key can talk to who is inside."""
    channel = await open_channel(*address, KEY, kind)
    channel.write(encode({"a": 1}, bytes(size)))
    answer = await asyncio.wait_for(channel.read(), 10)
    channel.close()
    return answer == ({"a": 1, "kind": kind.decode()}, bytes(size))


async def half_open(address, data=b"", host="127.0.0.1"):
    """A connection of a stranger who sends `data` and then nothing."""
    reader, writer = await asyncio.open_connection(*address, local_addr=(host, 0))
    if data:
        writer.write(data)
    return reader, writer


async def until(condition):
    """Waits until something holds."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("kind", [TASK, JAX])
def test_who_knows_the_key_passes_with_short_messages_and_long_ones(kind):
    async def run():
        async with a_door() as (door, address):
            assert await passes(address, kind)
            assert await passes(address, kind, size=3_000_000)
            assert (door.turned_away, door._strangers, door._known) == (0, {}, {})

    asyncio.run(run())


def test_who_does_not_know_it_is_closed_without_a_word_and_counted():
    async def run():
        async with a_door() as (door, address):
            for _ in range(3):
                with pytest.raises(UnansweredError, match="without an answer"):
                    await open_channel(*address, OTHER, TASK)
            assert (door.turned_away, door.last_turned_away) == (3, "127.0.0.1")
            for data in (b"GET / HTTP/1.1\r\n\r\n", b"\0", b"STRATAX1" + bytes(HELLO_SIZE - 8)):
                reader, writer = await half_open(address, data)
                with contextlib.suppress(ConnectionResetError):
                    assert await asyncio.wait_for(reader.read(), 5) == b""
                writer.close()
            assert door.turned_away == 3
            assert await passes(address)

    asyncio.run(run())


def test_another_program_and_a_coordinator_with_another_key_are_known_as_such():
    async def run():
        for answer, error, message in (
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", AuthenticationError, "another program"),
            (bytes(64), AuthenticationError, "wrong answer"),
        ):

            async def serve(reader, writer, answer=answer):
                await reader.readexactly(HELLO_SIZE)
                writer.write(answer)
                writer.close()

            async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
                with pytest.raises(error, match=message):
                    await open_channel(*server.sockets[0].getsockname(), KEY, TASK)

    asyncio.run(run())


def test_who_is_slow_is_dropped_at_the_deadline_wherever_he_stops(monkeypatch):
    monkeypatch.setattr(_door, "HANDSHAKE_SECONDS", 0.2)

    async def run():
        async with a_door() as (door, address):
            hello = ClientHandshake(KEY, TASK).hello
            loris = [await half_open(address, hello[:size]) for size in (0, 1, 8, HELLO_SIZE - 1, HELLO_SIZE)]
            for reader, writer in loris:
                assert len(await asyncio.wait_for(reader.read(), 5)) in (0, 64)
                writer.close()
            await until(lambda: not door._strangers and not door._known and not door._tasks)

    asyncio.run(run())


def test_a_replayed_first_message_gets_no_further():
    async def run():
        async with a_door() as (_, address):
            hello = ClientHandshake(KEY, TASK).hello
            for _ in range(2):
                reader, writer = await half_open(address, hello)
                assert len(await reader.readexactly(64)) == 64
                writer.write(bytes(32))
                assert await asyncio.wait_for(reader.read(), 5) == b""
                writer.close()

    asyncio.run(run())


def test_strangers_are_counted_and_keep_nobody_out():
    """More than may wait, from several hosts, at every stage: connected, in the middle, and replaying."""

    async def run():
        async with a_door() as (door, address), contextlib.AsyncExitStack() as stack:
            beginnings = (b"", MAGIC, ClientHandshake(KEY, TASK).hello)
            for number in range(2 * MOST_WAITING):
                _, writer = await half_open(address, beginnings[number % 3], f"127.0.0.{2 + number % 7}")
                stack.callback(writer.close)
                assert len(door._strangers) <= MOST_WAITING
                assert len(door._known) <= MOST_WAITING
            for waiting in (door._strangers, door._known):
                of_one = [visitor for visitor in waiting if visitor.host == "127.0.0.2"]
                assert len(of_one) <= MOST_WAITING_OF_HOST
            assert len(door._tasks) <= 2 * MOST_WAITING + 1
            for _ in range(20):
                assert await passes(address)

    asyncio.run(run())


def test_who_is_driven_out_can_tell_it_from_being_turned_away(monkeypatch):
    monkeypatch.setattr(_door, "MOST_WAITING_OF_HOST", 1)

    async def run():
        async with a_door() as (door, address):
            reader, writer = await half_open(address)
            await until(lambda: door._strangers)
            _, second = await half_open(address)
            with pytest.raises(ConnectionResetError):
                await asyncio.wait_for(reader.read(), 5)
            writer.close()
            second.close()

    asyncio.run(run())


def test_what_strangers_send_is_not_kept():
    async def run():
        async with a_door() as (door, address), contextlib.AsyncExitStack() as stack:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            hello = ClientHandshake(KEY, TASK).hello
            for _ in range(60):
                # The kernel holds what is not read; the client's buffer is in this process, too, so it is short.
                client = socket.create_connection(address)
                stack.callback(client.close)
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while client.send(hello[:8] + bytes(1_000_000)):
                        pass
                await asyncio.sleep(0)
            await until(lambda: not door._strangers)
            assert not door._tasks
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000

    gc.collect()
    asyncio.run(run())


def test_without_descriptors_the_door_rests_and_goes_on(monkeypatch):
    async def run():
        async with a_door() as (door, address):
            listener = door._listener

            class Short:
                fileno = listener.fileno

                def accept(self):
                    raise OSError(24, "Too many open files")

            door._listener = Short()
            asyncio.get_running_loop().remove_reader(listener)
            door._watch(door._listener)
            _, writer = await half_open(address)
            await asyncio.sleep(0.05)
            door._listener = listener
            door._watch(listener)
            assert await passes(address)
            writer.close()

    asyncio.run(run())


def test_a_reset_before_it_is_looked_at_does_no_harm():
    async def run():
        async with a_door() as (_, address):
            for _ in range(30):
                client = socket.create_connection(address)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
            assert await passes(address)

    asyncio.run(run())
