"""`Puller`: what a task knows of the arrays on servers; only what has changed travels (distribute layer)."""

import dataclasses
import threading
from collections.abc import Iterable, Sequence

import jax
import numpy as np

from stratax.parameter_servers.remote._layout import ServerShard
from stratax.parameter_servers.remote._servers import Request, Servers, by_server


@dataclasses.dataclass(slots=True, eq=False)
class _Known:
    """What this task knows of a shard: an array of the server, and its version."""

    version: int
    array: np.ndarray


class Puller:
    """Asks servers for shards, and puts variables together of them.

    Args:
        servers: The servers.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        # Programs are traced, and variables read, in several threads.
        self._lock = threading.RLock()
        self._known: dict[tuple[int, str], _Known] = {}
        # Variables that were put together, by their shards, with the versions of those.
        self._whole: dict[tuple[ServerShard, ...], tuple[tuple[int, ...], jax.Array]] = {}

    @property
    def num_known(self) -> int:
        """How many shards are kept here."""
        return len(self._known)

    def pull(self, variables: Sequence[tuple[ServerShard, ...]]) -> list[jax.Array]:
        """Return the values of variables, each of one version of its shards, as arrays that are not to be changed.

        Args:
            variables: The shards of each.
        """
        with self._lock:
            self._refresh(shard for shards in variables for shard in shards)
            return [self._value(shards) for shards in variables]

    def read_marked(self, variables: Sequence[tuple[ServerShard, ...]], mark: str) -> list[jax.Array]:
        """Return the values that variables had when a mark was made; nothing of them is kept here.

        Args:
            variables: The shards of each.
            mark: The mark.
        """
        requests = {
            server: Request({"op": "pull", "names": names, "known": {}, "mark": mark})
            for server, names in by_server(
                dict.fromkeys((shard.server, shard.name) for shards in variables for shard in shards)
            ).items()
        }
        found = {
            (server, name): array
            for server, answer in self._servers.ask(requests).items()
            for name, array in zip(answer.header["names"], answer.arrays, strict=True)
        }
        return [_join([found[shard.server, shard.name] for shard in shards]) for shards in variables]

    def pull_with_rows(
        self,
        variables: Sequence[tuple[ServerShard, ...]],
        tables: Sequence[tuple[tuple[ServerShard, ...], np.ndarray]],
    ) -> tuple[list[jax.Array], list[list[np.ndarray]]]:
        """Return the values of variables, and rows of others as they are now, which are not kept here.

        Args:
            variables: The shards of each.
            tables: The shards of each variable of which rows are wanted, and the numbers of these, in order.

        Returns:
            The values; and for each table its rows, in pieces.
        """
        with self._lock:
            pieces = self._refresh((shard for shards in variables for shard in shards), tables)
            return [self._value(shards) for shards in variables], pieces

    def forget(self, shards: tuple[ServerShard, ...]) -> None:
        """Keep nothing of a variable any more: it is gone."""
        self._whole.pop(shards, None)
        for shard in shards:
            self._known.pop((shard.server, shard.name), None)

    def _refresh(
        self, shards: Iterable[ServerShard], tables: Sequence[tuple[tuple[ServerShard, ...], np.ndarray]] = ()
    ) -> list[list[np.ndarray]]:
        """Pull what has changed, and rows of tables; return these, in pieces."""
        names = by_server((shard.server, shard.name) for shard in shards)
        # The tables, shards and row numbers that each server is asked for.
        rows: dict[int, list[tuple[int, ServerShard, np.ndarray]]] = {}
        order = []
        for index, (own, numbers) in enumerate(tables):
            for shard in own:
                found = shard.numbers_of(numbers)
                if len(found):
                    rows.setdefault(shard.server, []).append((index, shard, found))
                    order.append((shard.server, index))
        requests = {}
        for server in {**names, **rows}:
            wanted = list(dict.fromkeys(names.get(server, ())))
            known = {
                name: self._known[server, name].version for name in wanted if (server, name) in self._known
            }
            asked = rows.get(server, [])
            requests[server] = Request(
                {
                    "op": "pull",
                    "names": wanted,
                    "known": known,
                    "rows": [shard.name for _, shard, _ in asked],
                },
                [numbers for _, _, numbers in asked],
            )
        pieces = {}
        for server, answer in self._servers.ask(requests).items():
            versions, changed = answer.header["versions"], answer.header["names"]
            pieces[server] = iter(answer.arrays[len(changed) :])
            for name, array in zip(changed, answer.arrays, strict=False):
                self._known[server, name] = _Known(versions[name], array)
        found_rows: list[list[np.ndarray]] = [[] for _ in tables]
        for server, index in order:
            found_rows[index].append(next(pieces[server]))
        return found_rows

    def _value(self, shards: tuple[ServerShard, ...]) -> jax.Array:
        known = [self._known[shard.server, shard.name] for shard in shards]
        versions = tuple(each.version for each in known)
        before = self._whole.get(shards)
        if before is not None and before[0] == versions:
            return before[1]
        parts = [each.array for each in known]
        # A value also where a function is traced that reads the variable: it is kept for others.
        with jax.ensure_compile_time_eval():
            value = _join(parts)
        self._whole[shards] = versions, value
        return value


def _join(parts: Sequence[np.ndarray]) -> jax.Array:
    return jax.numpy.array(parts[0] if len(parts) == 1 else np.concatenate(parts))
