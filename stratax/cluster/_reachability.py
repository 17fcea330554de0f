"""Whether the other hosts of a cluster can reach this task at its address (cluster layer)."""

import ipaddress
import socket
from typing import Any

from stratax.base.shown import shown
from stratax.cluster._membership import Membership, host_and_port
from stratax.errors import ClusterError


def check_reachable(membership: Membership) -> None:
    """Check that this task's host is no loopback address where other tasks are on other machines.

    Many systems give the machine's own name a loopback address (Debian's ``127.0.1.1``). A task that listens there
    would be waited for until the deadline.

    Args:
        membership: The tasks, and which one this is.

    Raises:
        ClusterError: If it is.
    """
    own = membership.addresses[membership.index]
    here = [address[0] for _, address in _resolve_address(own)]
    # A name that is not known yet is no reason to stop: it may be soon.
    if not here or not all(ipaddress.ip_address(each.partition("%")[0]).is_loopback for each in here):
        return
    elsewhere = next((address for address in membership.addresses if _is_elsewhere(address)), None)
    if elsewhere is not None:
        raise ClusterError(
            f"The address of {membership.name} is a loopback address on its own machine, {here[0]}, so that tasks on "
            f"other machines such as {shown(elsewhere)} can't reach it. Give the machine's address in the network, or "
            "mend its "
            f"name in /etc/hosts. Received: {shown(own)}."
        )


def _is_elsewhere(address: str) -> bool:
    """Return whether an address is known here, and is not one of this machine."""
    # Nothing found means nothing known, and says nothing about where it is.
    found = _resolve_address(address)
    return bool(found) and not any(_is_own(family, each) for family, each in found)


def _is_own(family: int, address: Any) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            # Only addresses of this machine can be bound to; asking the system costs no connection.
            probe.bind(address)
        except OSError:
            return False
    return True


def _resolve_address(address: str) -> list[tuple[int, Any]]:
    """Return what a host's name means here, with any port; nothing where it is not known yet."""
    try:
        found = socket.getaddrinfo(host_and_port(address)[0], 0, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [(family, each) for family, _, _, _, each in found]
