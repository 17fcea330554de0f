"""Which groups and neighbours a `ShardedStrategy` is to have on a slice (rehearsal layer)."""

import dataclasses
import math
from collections.abc import Sequence

import jax
from jax.sharding import NamedSharding

from stratax.command.rehearsal._report import ProgramReport
from stratax.command.rehearsal._topologies import Topology
from stratax.core.regions import MadeProgram, arguments_of
from stratax.distribute.replicas import MODEL_AXIS, SHARD_AXIS
from stratax.distribute.strategies import Arrangement

# More neighbours than a host has chips have no links of their own.
_NEIGHBOURS = (1, 2, 4, 8)
# So many numbers of groups are tried, the largest that could fit, besides a single group.
_MOST_GROUPS = 2
# What a layout divides without a rule.
_SMALL = 8192


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What a strategy is to be on a slice.

    Attributes:
        best: The fastest that fits; None if none does.
        reports: All that were tried.
    """

    best: ProgramReport | None
    reports: Sequence[ProgramReport]


def list_arrangements(made: MadeProgram, topology: Topology, batch: int = 0) -> list[Arrangement]:
    """Return the arrangements that are worth compiling for a slice; none for programs that divide no variables.

    Neighbours that share a part of the batch are tried where rules divide by ``"model"``. Of numbers of groups, each of
    which has the whole, one is tried, and the largest whose variables alone leave room.

    Args:
        made: The program.
        topology: The slice.
        batch: The global batch; 0 for as many examples on each device as in the run.
    """
    specs = [(spec, variable) for _, spec, variable in arguments_of(made) if variable is not None]
    meshes = [spec.sharding.mesh for spec, _ in specs if isinstance(spec.sharding, NamedSharding)]
    if not any(mesh.shape.get(SHARD_AXIS, 1) * mesh.shape.get(MODEL_AXIS, 1) > 1 for mesh in meshes):
        return []
    by_rule = any(MODEL_AXIS in getattr(spec.sharding, "spec", ()) for spec, _ in specs)
    known = max(mesh.shape.get(MODEL_AXIS, 1) for mesh in meshes)
    devices = topology.num_devices
    found = []
    for model in _NEIGHBOURS if by_rule else (known,):
        if devices % model or batch % (devices // model):
            continue
        groups = [
            count
            for count in (2**power for power in range(1, devices.bit_length()))
            if (devices // model) % count == 0
            and _count_least([spec for spec, _ in specs], devices // count) <= topology.memory_per_device
        ]
        found += [Arrangement(replicas=count, model=model) for count in (1, *groups[-_MOST_GROUPS:])]
    return found


def _count_least(specs: Sequence[jax.ShapeDtypeStruct], parts: int) -> float:
    """Return the bytes of variables on a device that has one of so many parts of all that are large."""
    return sum(
        size * spec.dtype.itemsize / (parts if size >= _SMALL else 1)
        for spec in specs
        for size in (math.prod(spec.shape),)
    )


def propose(reports: Sequence[ProgramReport]) -> list[Proposal]:
    """Choose an arrangement for each slice and batch.

    Args:
        reports: A report for each slice, batch and arrangement.
    """
    grouped: dict[tuple[str, int], list[ProgramReport]] = {}
    for report in reports:
        grouped.setdefault((report.topology.name, report.batch), []).append(report)
    return [
        Proposal(
            best=max(
                (each for each in group if each.fits), key=lambda each: each.examples_per_second, default=None
            ),
            reports=group,
        )
        for group in grouped.values()
    ]
