"""A task's link to the coordinator: who is refused, comes again, or does not know the secret."""

import asyncio
import re

import pytest

from stratax.errors import ClusterError
from tests.cluster.meetings import (
    admitted,
    coordinator_of,
    is_closed,
    links_of,
    make_link,
    membership_of,
    memberships,
)


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    """The cluster has a secret."""
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET", "of the tests, and long enough")


def test_a_task_that_is_refused_says_why():
    async def run():
        mine, _ = memberships(2)
        other = membership_of({"worker": [mine.addresses[0], "127.0.0.1:1"]}, 1)
        async with coordinator_of(mine):
            first = asyncio.ensure_future(make_link(mine).join(asyncio.get_running_loop().time() + 10))
            await asyncio.sleep(0.1)
            with pytest.raises(
                ClusterError, match=r"different clusters: cluster.worker: .*Received: this task is"
            ):
                await make_link(other).join(asyncio.get_running_loop().time() + 10)
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
            again = make_link(theirs)
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
        other = membership_of(mine.cluster, 1)
        loop = asyncio.get_running_loop()
        async with coordinator_of(mine):
            given = "the secret of STRATAX_CLUSTER_SECRET" if own else "no secret"
            message = (
                rf"^/job:worker/task:0 at 127.0.0.1:\d+ closes the connections of /job:worker/task:1 .*"
                rf"Give all tasks the same STRATAX_CLUSTER_SECRET.*Received: {given}\."
            )
            with pytest.raises(ClusterError, match=message) as error:
                await make_link(other).join(loop.time() + 30)
            assert not own or own not in str(error.value)
            chief = make_link(mine)
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
        other = membership_of(tasks[0].cluster, 1)
        async with coordinator_of(tasks[0]):
            with pytest.raises(ClusterError, match="without an answer.*STRATAX_JOB_ID differs"):
                await make_link(other).join(asyncio.get_running_loop().time() + 30)
            async with links_of(tasks):
                pass

    asyncio.run(run())
