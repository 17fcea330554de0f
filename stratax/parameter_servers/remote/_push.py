"""What a step has servers do, in one message for each of them (distribute layer)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stratax.parameter_servers.remote._layout import ServerShard
from stratax.parameter_servers.remote._servers import Request, by_server


def requests_of(
    step: str,
    updates: Mapping[int, tuple[str, Sequence[np.ndarray]]],
    assigned: Iterable[tuple[ServerShard, np.ndarray]],
    *,
    once: bool = False,
) -> dict[int, Request]:
    """Return what servers are asked for a step: all that it changes on one of them is changed there in one go.

    Args:
        step: What tells the step from all others. Servers need it to mark states that have all of a step or nothing.
        updates: The update that each server makes, and what it is sent.
        assigned: New values of shards, which come behind the updates.
        once: Whether the updates are not made where a step of this name has had them made.
    """
    values = by_server((shard.server, (shard.name, value)) for shard, value in assigned)
    servers = sorted({*updates, *values})
    found = {}
    for server in servers:
        names = [name for name, _ in values.get(server, ())]
        arrays = [value for _, value in values.get(server, ())]
        header: dict[str, Any] = {"op": "assign", "names": names, "step": step, "servers": servers}
        if server in updates:
            update, sent = updates[server]
            header |= {"op": "apply", "update": update, **({"once": step} if once else {})}
            arrays = [*sent, *arrays]
        found[server] = Request(header, arrays)
    return found
