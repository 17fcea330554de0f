"""The meeting point by itself: what strangers and broken tasks can't do."""

import asyncio
import contextlib
import re

import pytest

from stratax.cluster import ClusterSpec, _hub
from stratax.cluster._frames import MAGIC, encode, read_frame
from stratax.cluster._hub import Hub
from stratax.cluster._link import Link
from stratax.cluster._roster import make_roster
from stratax.cluster._watchdog import Limits
from stratax.errors import ClusterError, ClusterTimeoutError, PeerLostError
from tests.cluster.processes import addresses


def rosters(count):
    """The rosters of a cluster of this machine, one for each task."""
    cluster = ClusterSpec(addresses(count))
    return [make_roster(cluster, "worker", index) for index in range(count)]


@contextlib.asynccontextmanager
async def hub_of(roster):
    """A hub that listens."""
    hub = Hub(roster, Limits(), "token", "stratax-no-service")
    await hub.start(*roster.coordinator)
    try:
        yield hub
    finally:
        await hub.close()


@contextlib.asynccontextmanager
async def links_of(rosters):
    """The tasks' links, joined, and what each was told of a failure."""
    links = [Link(roster, Limits(), lambda _: None) for roster in rosters]
    loop = asyncio.get_running_loop()
    try:
        await asyncio.gather(*(link.join(loop.time() + 10) for link in links))
        yield links
    finally:
        for link in links:
            await link.close()


async def said_to(roster, data, seconds=5):
    """What the hub answers a stranger who sends `data`, until it closes the connection."""
    reader, writer = await asyncio.open_connection(*roster.coordinator)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), seconds)
    finally:
        writer.close()


def test_a_stranger_gets_no_answer_and_is_dropped(monkeypatch):
    monkeypatch.setattr(_hub, "HELLO_SECONDS", 0.2)

    async def run():
        (roster, _) = rosters(2)
        async with hub_of(roster):
            hello = {**roster.introduction("jax"), "token": "guessed"}
            for data in (
                b"",
                b"GET / HTTP/1.1\r\n\r\n",
                MAGIC,
                MAGIC + encode(hello),
                MAGIC + encode({"kind": "?"}),
            ):
                assert await said_to(roster, data) == b""

    asyncio.run(run())


def test_a_hello_that_makes_no_sense_is_refused():
    async def run():
        (roster, _) = rosters(2)
        async with hub_of(roster):
            for index in (None, -1, 2, "0"):
                answer = await said_to(
                    roster, MAGIC + encode({**roster.introduction("task"), "index": index})
                )
                assert re.search(rb"impossible number", answer)
            answer = await said_to(roster, MAGIC + encode({**roster.introduction("task"), "fingerprint": 3}))
            assert b"were given different clusters" in answer

    asyncio.run(run())


def test_a_task_that_talks_nonsense_counts_as_lost():
    async def run():
        mine, theirs = rosters(2)
        async with hub_of(mine), links_of([mine, theirs]) as links:
            links[1].send({"t": "gather"})
            await asyncio.get_running_loop().run_in_executor(None, links[0].failed.wait, 5)
            assert links[0].failed_tasks == (1,)
            assert re.match("/job:worker/task:1 died", str(links[0].failure))

    asyncio.run(run())


def test_values_are_gathered_in_order_and_a_name_can_be_used_again():
    async def run():
        tasks = rosters(3)
        loop = asyncio.get_running_loop()
        async with hub_of(tasks[0]), links_of(tasks) as links:
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
        tasks = rosters(2)
        loop = asyncio.get_running_loop()
        async with hub_of(tasks[0]) as hub, links_of(tasks) as links:
            links[1].send({"t": "bye", "phase": "idle", "step": None, "last": 9, "age": 0.0})
            while hub._members[1].left_at is None:
                await asyncio.sleep(0.01)
            message = "^/job:worker/task:1 left the program after step 9 while others were waiting for it"
            with pytest.raises(PeerLostError, match=message):
                await loop.run_in_executor(None, links[0].gather, "x", b"", True, 60)
            assert links[0].failure_kind == "left"

    asyncio.run(run())


def test_a_value_that_was_withdrawn_is_forgotten():
    async def run():
        tasks = rosters(2)
        loop = asyncio.get_running_loop()
        async with hub_of(tasks[0]), links_of(tasks) as links:
            for link, missing in ((links[0], 1), (links[1], 0)):
                with pytest.raises(
                    ClusterTimeoutError, match=rf"'x' was not reached.*Missing: /job:worker/task:{missing}"
                ):
                    await loop.run_in_executor(None, link.gather, "x", b"", True, 0.05)

    asyncio.run(run())


def test_a_task_that_is_refused_says_why():
    async def run():
        mine, _ = rosters(2)
        other = make_roster(ClusterSpec({"worker": [mine.addresses[0], "127.0.0.1:1"]}), "worker", 1)
        async with hub_of(mine):
            first = asyncio.ensure_future(
                Link(mine, Limits(), lambda _: None).join(asyncio.get_running_loop().time() + 10)
            )
            await asyncio.sleep(0.1)
            with pytest.raises(
                ClusterError, match=r"different clusters: cluster.worker: .*Received: this task is"
            ):
                await Link(other, Limits(), lambda _: None).join(asyncio.get_running_loop().time() + 10)
            with pytest.raises(ClusterError, match=r"different clusters: cluster.worker"):
                await first

    asyncio.run(run())


def test_a_task_that_was_lost_before_all_had_come_can_come_again():
    """Its host fell silent: nothing closed its connection."""

    async def run():
        mine, theirs = rosters(2)
        loop = asyncio.get_running_loop()
        async with hub_of(mine):
            reader, writer = await asyncio.open_connection(*mine.coordinator)
            writer.write(MAGIC + encode(theirs.introduction("task")))
            assert (await asyncio.wait_for(read_frame(reader), 5))[0]["t"] == "waiting"
            again = Link(theirs, Limits(), lambda _: None)
            joined = asyncio.ensure_future(again.join(loop.time() + 10))
            header, _ = await asyncio.wait_for(read_frame(reader), 5)
            assert (header["t"], "two processes were started" in header["message"]) == ("refused", True)
            assert await asyncio.wait_for(reader.read(), 5) == b""
            writer.close()
            async with links_of([mine]) as (chief,):
                await joined
                calls = [
                    loop.run_in_executor(None, link.gather, "x", b"", True, 10) for link in (chief, again)
                ]
                assert await asyncio.gather(*calls) == [[b"", b""]] * 2
            await again.close()

    asyncio.run(run())


def test_an_address_of_another_machine_can_not_be_listened_on():
    async def run():
        roster = make_roster(ClusterSpec({"worker": ["192.0.2.77:2222", "b:1"]}), "worker", 0)
        with pytest.raises(OSError, match="assign requested address"):
            await Hub(roster, Limits(), "", "").start(*roster.coordinator)

    asyncio.run(run())


def test_the_first_frame_of_the_hub_says_who_is_missing():
    async def run():
        mine, _ = rosters(2)
        async with hub_of(mine):
            reader, writer = await asyncio.open_connection(*mine.coordinator)
            writer.write(MAGIC + encode(mine.introduction("task")))
            header, _ = await asyncio.wait_for(read_frame(reader), 5)
            assert (header["t"], header["missing"]) == ("waiting", ["/job:worker/task:1"])
            writer.close()

    asyncio.run(run())
