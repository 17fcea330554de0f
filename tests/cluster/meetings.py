"""A coordinator and the links of tasks in this process, without connecting it; and strangers who talk to them."""

import asyncio
import contextlib

import pytest

from stratax.cluster import ClusterSpec
from stratax.cluster._channel import open_channel
from stratax.cluster._coordinator import Coordinator
from stratax.cluster._frames import encode
from stratax.cluster._handshake import TASK
from stratax.cluster._link import Link
from stratax.cluster._membership import make_membership
from stratax.cluster._watchdog import Limits
from tests.cluster.processes import addresses


def memberships(count):
    """The memberships of a cluster of this machine, one for each task."""
    cluster = ClusterSpec(addresses(count))
    return [membership_of(cluster, index) for index in range(count)]


def membership_of(cluster, index):
    """The membership of a worker of a cluster, as this process is configured now."""
    return make_membership(ClusterSpec(cluster), "worker", index)


def make_coordinator(membership):
    """A coordinator that does not listen yet."""
    return Coordinator(membership, Limits(), "token", "stratax-no-service")


def make_link(membership):
    """A task's link, which has not joined."""
    return Link(membership, Limits(), lambda _: None)


@contextlib.asynccontextmanager
async def coordinator_of(membership):
    """A coordinator that listens."""
    coordinator = make_coordinator(membership)
    await coordinator.start(*membership.coordinator_address)
    try:
        yield coordinator
    finally:
        await coordinator.close()


@contextlib.asynccontextmanager
async def links_of(memberships):
    """The tasks' links, joined, and what each was told of a failure."""
    links = [make_link(membership) for membership in memberships]
    loop = asyncio.get_running_loop()
    try:
        await asyncio.gather(*(link.join(loop.time() + 10) for link in links))
        yield links
    finally:
        for link in links:
            await link.close()


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
