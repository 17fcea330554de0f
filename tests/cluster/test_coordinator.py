"""The meeting point by itself: what strangers and broken tasks can't do."""

import asyncio
import contextlib
import re
import threading

import pytest

from stratax.cluster import _door
from stratax.cluster._handshake import JAX, MAGIC, TASK, ClientHandshake
from stratax.errors import ClusterTimeoutError, PeerLostError
from tests.cluster.meetings import (
    admitted,
    coordinator_of,
    is_closed,
    links_of,
    make_coordinator,
    membership_of,
    memberships,
)


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    """The cluster has a secret."""
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET", "of the tests, and long enough")


async def said_to(membership, data, seconds=5):
    """What the coordinator answers a stranger who sends `data`, until it closes the connection."""
    reader, writer = await asyncio.open_connection(*membership.coordinator_address)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), seconds)
    finally:
        writer.close()


def test_a_stranger_gets_no_answer_and_is_dropped(monkeypatch):
    monkeypatch.setattr(_door, "HANDSHAKE_SECONDS", 0.2)

    async def run():
        (membership, _) = memberships(2)
        async with coordinator_of(membership):
            other = ClientHandshake(b"another key", TASK).hello
            known = ClientHandshake(membership.credentials.key, TASK).hello
            for data in (
                b"",
                b"GET / HTTP/1.1\r\n\r\n",
                MAGIC,
                other,
                other[:-1],
                known[:-1] + bytes([known[-1] ^ 1]),
            ):
                assert await said_to(membership, data) == b""

    asyncio.run(run())


def test_who_knows_the_secret_but_not_the_token_does_not_reach_jax():
    async def run():
        (membership, _) = memberships(2)
        async with coordinator_of(membership):
            for introduction in ({"token": "guessed"}, {"token": "t\u00f6ken"}, {}):
                assert await is_closed(await admitted(membership, introduction, JAX))

    asyncio.run(run())


def test_an_introduction_that_makes_no_sense_is_refused():
    async def run():
        (membership, _) = memberships(2)
        async with coordinator_of(membership):
            for wrong, message in (
                ({"index": None}, "impossible number"),
                ({"index": -1}, "impossible number"),
                ({"index": 2}, "impossible number"),
                ({"index": "0"}, "impossible number"),
                ({"fingerprint": 3}, "were given different clusters"),
                ({"job": "another"}, "another start of the job"),
            ):
                channel = await admitted(membership, {**membership.introduction(), **wrong})
                header, _ = await asyncio.wait_for(channel.read(), 5)
                assert header["t"] == "refused"
                assert message in header["message"]
                channel.close()
            for introduction in ({}, {"cluster": "x" * 5_000_000}):
                channel = await admitted(membership, introduction)
                with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                    header, _ = await asyncio.wait_for(channel.read(), 5)
                    assert header["t"] == "refused"
                channel.close()

    asyncio.run(run())


def test_a_task_that_talks_nonsense_counts_as_lost():
    async def run():
        mine, theirs = memberships(2)
        async with coordinator_of(mine), links_of([mine, theirs]) as links:
            links[1].send({"t": "gather"})
            await asyncio.get_running_loop().run_in_executor(None, links[0].failed.wait, 5)
            assert links[0].failed_tasks == (1,)
            assert re.match("/job:worker/task:1 died", str(links[0].failure))

    asyncio.run(run())


def test_values_are_gathered_in_order_and_a_name_can_be_used_again():
    async def run():
        tasks = memberships(3)
        loop = asyncio.get_running_loop()
        async with coordinator_of(tasks[0]), links_of(tasks) as links:
            for round_ in range(3):
                values = [bytes([index]) * (round_ * 100_000 + index) for index in range(3)]
                calls = [
                    loop.run_in_executor(None, link.gather, "x", value, index != 1, 10)
                    for index, (link, value) in enumerate(zip(links, values, strict=True))
                ]
                assert await asyncio.gather(*calls) == [values, values[:1], values]

    asyncio.run(run())


def test_a_task_that_has_left_is_not_waited_for():
    async def run():
        tasks = memberships(2)
        loop = asyncio.get_running_loop()
        async with coordinator_of(tasks[0]) as coordinator, links_of(tasks) as links:
            links[1].send({"t": "bye", "phase": "idle", "step": None, "last": 9, "age": 0.0})
            while coordinator._members[1].left_at is None:
                await asyncio.sleep(0.01)
            message = "^/job:worker/task:1 left the program after step 9 while others were waiting for it"
            with pytest.raises(PeerLostError, match=message):
                await loop.run_in_executor(None, links[0].gather, "x", b"", True, 60)
            assert links[0].failure_kind == "left"

    asyncio.run(run())


def test_what_a_thread_reads_ahead_does_not_need_a_task_that_has_left():
    async def run():
        tasks = memberships(2)
        loop = asyncio.get_running_loop()
        async with coordinator_of(tasks[0]) as coordinator, links_of(tasks) as links:
            links[1].send({"t": "bye", "phase": "idle", "step": None, "last": 9, "age": 0.0})
            while coordinator._members[1].left_at is None:
                await asyncio.sleep(0.01)
            with pytest.raises(ClusterTimeoutError, match="before one left the program.*worker/task:1"):
                await loop.run_in_executor(None, links[0].gather, "x", b"", True, 60, threading.Event())
            assert links[0].failure is None

    asyncio.run(run())


def test_a_value_that_was_withdrawn_is_forgotten():
    async def run():
        tasks = memberships(2)
        loop = asyncio.get_running_loop()
        async with coordinator_of(tasks[0]), links_of(tasks) as links:
            for link, missing in ((links[0], 1), (links[1], 0)):
                with pytest.raises(
                    ClusterTimeoutError, match=rf"'x' was not reached.*Missing: /job:worker/task:{missing}"
                ):
                    await loop.run_in_executor(None, link.gather, "x", b"", True, 0.05)

    asyncio.run(run())


def test_an_address_of_another_machine_can_not_be_listened_on():
    async def run():
        membership = membership_of({"worker": ["192.0.2.77:2222", "b:1"]}, 0)
        with pytest.raises(OSError, match="assign requested address"):
            await make_coordinator(membership).start(*membership.coordinator_address)

    asyncio.run(run())


def test_the_first_frame_of_the_coordinator_says_who_is_missing():
    async def run():
        mine, _ = memberships(2)
        async with coordinator_of(mine):
            channel = await admitted(mine, mine.introduction())
            header, _ = await asyncio.wait_for(channel.read(), 5)
            assert (header["t"], header["missing"]) == ("waiting", ["/job:worker/task:1"])
            channel.close()

    asyncio.run(run())
