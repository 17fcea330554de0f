"""A task's link to the coordinator: who is refused, comes again, or does not know the secret."""

import asyncio
import contextlib
import re

import pytest

from stratax.cluster import ClusterSpec
from stratax.cluster._channel import open_channel
from stratax.cluster._coordinator import Coordinator
from stratax.cluster._frames import encode
from stratax.cluster._handshake import TASK
from stratax.cluster._link import Link
from stratax.cluster._membership import make_membership
from stratax.cluster._watchdog import Limits
from stratax.errors import ClusterError
from tests.cluster.processes import addresses


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    """The cluster has a secret."""
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET", "of the tests, and long enough")


def memberships(count):
    """The memberships of a cluster of this machine, one for each task."""
    cluster = ClusterSpec(addresses(count))
    return [make_membership(cluster, "worker", index) for index in range(count)]


@contextlib.asynccontextmanager
async def coordinator_of(membership):
    """A coordinator that listens."""
    coordinator = Coordinator(membership, Limits(), "token", "stratax-no-service")
    await coordinator.start(*membership.coordinator_address)
    try:
        yield coordinator
    finally:
        await coordinator.close()


@contextlib.asynccontextmanager
async def links_of(memberships):
    """The tasks' links, joined, and what each was told of a failure."""
    links = [Link(membership, Limits(), lambda _: None) for membership in memberships]
    loop = asyncio.get_running_loop()
    try:
        await asyncio.gather(*(link.join(loop.time() + 10) for link in links))
        yield links
    finally:
        for link in links:
            await link.close()


async def said_to(membership, data, seconds=5):
    """What the coordinator answers a stranger who sends `data`, until it closes the connection."""
    reader, writer = await asyncio.open_connection(*membership.coordinator_address)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), seconds)
    finally:
        writer.close()


async def admitted(membership, introduction, kind=TASK):
    """A channel of one who knows the secret, and introduces himself."""
    channel = await open_channel(*membership.coordinator_address, membership.credentials.key, kind)
    channel.write(encode(introduction))
    return channel


async def is_closed(channel):
    """Waits until the other end closes a channel without a message."""
    with pytest.raises(asyncio.IncompleteReadError):
        await asyncio.wait_for(channel.read(), 5)
    return True


def test_a_task_that_is_refused_says_why():
    async def run():
        mine, _ = memberships(2)
        other = make_membership(ClusterSpec({"worker": [mine.addresses[0], "127.0.0.1:1"]}), "worker", 1)
        async with coordinator_of(mine):
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
        mine, theirs = memberships(2)
        loop = asyncio.get_running_loop()
        async with coordinator_of(mine):
            channel = await admitted(mine, theirs.introduction())
            assert (await asyncio.wait_for(channel.read(), 5))[0]["t"] == "waiting"
            again = Link(theirs, Limits(), lambda _: None)
            joined = asyncio.ensure_future(again.join(loop.time() + 10))
            header, _ = await asyncio.wait_for(channel.read(), 5)
            assert (header["t"], "two processes were started" in header["message"]) == ("refused", True)
            assert await is_closed(channel)
            channel.close()
            async with links_of([mine]) as (chief,):
                await joined
                calls = [
                    loop.run_in_executor(None, link.gather, "x", b"", True, 10) for link in (chief, again)
                ]
                assert await asyncio.gather(*calls) == [[b"", b""]] * 2
            await again.close()

    asyncio.run(run())


@pytest.mark.parametrize("own", ["another one, just as long", ""])
def test_a_task_without_the_secret_learns_what_to_check_and_disturbs_nobody(monkeypatch, own):
    async def run():
        mine, theirs = memberships(2)
        monkeypatch.setenv("STRATAX_CLUSTER_SECRET", own)
        other = make_membership(mine.cluster, "worker", 1)
        loop = asyncio.get_running_loop()
        async with coordinator_of(mine):
            given = "the secret of STRATAX_CLUSTER_SECRET" if own else "no secret"
            message = (
                rf"^/job:worker/task:0 at 127.0.0.1:\d+ closes the connections of /job:worker/task:1 .*"
                rf"Give all tasks the same STRATAX_CLUSTER_SECRET.*Received: {given}\."
            )
            with pytest.raises(ClusterError, match=message) as error:
                await Link(other, Limits(), lambda _: None).join(loop.time() + 30)
            assert not own or own not in str(error.value)
            chief = Link(mine, Limits(), lambda _: None)
            waits = asyncio.ensure_future(chief.join(loop.time() + 30))
            while not chief._greeted:
                await asyncio.sleep(0.01)
            assert re.search(
                r"Turned away: 5 times who does not know.*last from 127.0.0.1", chief._waiting_text()
            )
            async with links_of([theirs]):
                await waits
            await chief.close()

    asyncio.run(run())


def test_without_a_secret_those_who_were_given_the_same_cluster_meet(monkeypatch):
    monkeypatch.delenv("STRATAX_CLUSTER_SECRET")

    async def run():
        tasks = memberships(2)
        monkeypatch.setenv("STRATAX_JOB_ID", "another start")
        other = make_membership(tasks[0].cluster, "worker", 1)
        async with coordinator_of(tasks[0]):
            with pytest.raises(ClusterError, match="without an answer.*STRATAX_JOB_ID differs"):
                await Link(other, Limits(), lambda _: None).join(asyncio.get_running_loop().time() + 30)
            async with links_of(tasks):
                pass

    asyncio.run(run())
