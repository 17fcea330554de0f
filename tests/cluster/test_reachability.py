"""A task's own name may mean a loopback address on its machine, which is of no use to tasks on others."""

import socket

import pytest

from stratax.cluster._reachability import check_reachable
from stratax.errors import ClusterError
from tests.cluster.meetings import membership_of

# No machine has an address of this network: it is for documentation.
NAMES = {"debian": "127.0.1.1", "six": "::1", "far": "192.0.2.7", "near": "127.0.0.2"}


@pytest.fixture(autouse=True)
def names(monkeypatch):
    """The names of hosts that are known here."""

    def getaddrinfo(host, *rest, **more):
        if host not in NAMES and not host[0].isdecimal():
            raise socket.gaierror(-2, "Name or service not known")
        return real(NAMES.get(host, host), *rest, **more)

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def membership(*hosts, index=0):
    return membership_of({"worker": [f"{host}:2222" for host in hosts]}, index)


@pytest.mark.parametrize(
    ("hosts", "index"),
    [
        (("debian", "debian-2"), 0),
        (("debian", "near"), 0),
        (("127.0.0.1", "127.0.0.2"), 0),
        (("debian", "far"), 1),
        (("unknown", "far"), 0),
    ],
)
def test_tasks_of_one_machine_and_names_that_are_not_known_yet_are_taken(hosts, index):
    check_reachable(membership(*hosts, index=index))


@pytest.mark.parametrize(
    ("own", "address"), [("debian", "127.0.1.1"), ("six", "::1"), ("127.0.0.1", "127.0.0.1")]
)
def test_a_loopback_address_among_other_machines_is_refused_at_once(own, address):
    message = (
        rf"/job:worker/task:0 is a loopback address on its own machine, {address}, .*such as 'far:2222' can't reach it"
        rf".*/etc/hosts\. Received: '{own}:2222'"
    )
    with pytest.raises(ClusterError, match=message):
        check_reachable(membership(own, "unknown", "far"))
