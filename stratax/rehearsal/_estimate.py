"""How long a step takes at least: the roofline (rehearsal layer)."""

import dataclasses
from collections.abc import Sequence

from stratax.rehearsal._hlo import Collective
from stratax.rehearsal._topologies import Topology


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What one step takes at least, in seconds, if nothing but one of these held it up.

    Attributes:
        compute: Computing, at the peak for bfloat16 factors.
        memory: Reading and writing the device's memory.
        links: Collectives, over the links between chips.
    """

    compute: float
    memory: float
    links: float

    @property
    def seconds(self) -> float:
        """The time of a step: that of the slowest of the three, which run at the same time at best."""
        return max(self.compute, self.memory, self.links)

    @property
    def one_by_one(self) -> float:
        """The time of a step where none of the three happens while another does, at the same peaks."""
        return self.compute + self.memory + self.links

    @property
    def bound(self) -> str:
        """What holds the step up: ``"compute"``, ``"memory"`` or ``"links"``."""
        return max(("compute", "memory", "links"), key=lambda name: getattr(self, name))


def estimate(
    topology: Topology, flops: float, bytes_accessed: float, collectives: Sequence[Collective], steps: int = 1
) -> Estimate:
    """Estimate a step of a compiled program.

    Args:
        topology: Where it runs.
        flops: Its operations on each device, as the compiler counts them: what a loop does once.
        bytes_accessed: The bytes that it reads and writes on each device, likewise.
        collectives: Its collectives.
        steps: How many steps it makes, in a loop; what stands outside of the loop is divided among them.
    """
    generation = topology.generation
    devices = generation.devices_per_chip
    sent = sum(_sent(each) / (steps if each.times else 1) * (each.times or 1) for each in collectives)
    links = topology.bandwidth_per_chip
    return Estimate(
        compute=flops / (generation.flops / devices),
        memory=bytes_accessed / (generation.memory_bandwidth / devices),
        links=sent / links if links else 0.0,
    )


def _sent(collective: Collective) -> float:
    """Return the bytes that a chip sends: cores of one chip combine their parts without links."""
    group = collective.group
    share = (group - 1) / group if group > 1 else 0.0
    match collective.kind:
        case "all-reduce":
            return 2 * share * collective.bytes  # A reduce-scatter, then an all-gather.
        case "collective-permute":
            return float(collective.bytes)
        case _:
            return share * collective.bytes
