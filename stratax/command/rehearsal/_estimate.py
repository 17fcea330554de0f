"""How long a step takes at least: the roofline, and what takes its time however small it is (rehearsal layer)."""

import dataclasses
from collections.abc import Sequence

from stratax.command.rehearsal._hlo import Collective
from stratax.command.rehearsal._topologies import Topology

# A message from a chip to the next. Austin et al., How to Scale Your Model, 2025, in its part on sharded matrices:
# about 1 us a hop, so that on v5e what is below some 45 KB a hop takes no less time.
_HOP_SECONDS = 1e-6
# What the host does for a dispatch, which overlaps with the devices' work on the one before. Measured: `fit` of a model
# of ten weights takes 0.25 ms a step on a host with two cores.
_DISPATCH_SECONDS = 2e-4


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What one step takes at least, in seconds, if nothing but one of these held it up.

    Attributes:
        compute: Computing, at the peak for bfloat16 factors.
        memory: Reading and writing the device's memory.
        links: The bytes of collectives, over the links between chips.
        latency: Collectives again: what they take from chip to chip, however few bytes they have.
        dispatch: What the host does for the step.
        hidden: How much of `links` and `latency` goes on while something is computed. For the rest a chip waits.
    """

    compute: float
    memory: float
    links: float
    latency: float = 0.0
    dispatch: float = 0.0
    hidden: float = 0.0

    @property
    def seconds(self) -> float:
        """The time of a step: of what can happen at the same time the slowest, and of what can't the sum."""
        waits = self.links + self.latency - self.hidden
        return max(waits + max(self.compute, self.memory, self.hidden), self.dispatch)

    @property
    def one_by_one(self) -> float:
        """The time of a step where none of these happens while another does, at the same peaks."""
        return self.compute + self.memory + self.links + self.latency + self.dispatch

    @property
    def bound(self) -> str:
        """What takes longest: ``"compute"``, ``"memory"``, ``"links"``, ``"latency"`` or ``"dispatch"``."""
        times = {
            "compute": self.compute,
            "memory": self.memory,
            "links" if self.links >= self.latency else "latency": self.links + self.latency,
            # It holds up what takes less than it, all of it together.
            "dispatch": self.dispatch if self.seconds == self.dispatch else 0.0,
        }
        return max(times, key=lambda name: times[name])

    @property
    def is_shorter_than_latencies(self) -> bool:
        """Whether a step takes as long as it does only because nothing takes less: more chips don't speed it up."""
        return self.bound in ("latency", "dispatch")


def estimate(
    topology: Topology, flops: float, bytes_accessed: float, collectives: Sequence[Collective], steps: int = 1
) -> Estimate:
    """Estimate a step of a compiled program.

    Args:
        topology: Where it runs.
        flops: The operations of a step on each device.
        bytes_accessed: The bytes that it reads and writes there.
        collectives: Its collectives.
        steps: How many steps it makes, in a loop; of collectives, what stands outside is divided among them.
    """
    generation = topology.generation
    devices = generation.devices_per_chip
    # How often each runs in a step.
    runs = [(each, (each.times or 1) / (steps if each.times else 1)) for each in collectives]
    sent = sum(_count_sent(each) * count for each, count in runs)
    sent_beside = sum(_count_sent(each) * count for each, count in runs if each.overlaps)
    hops = sum(_hops(each, topology) * count for each, count in runs)
    hops_beside = sum(_hops(each, topology) * count for each, count in runs if each.overlaps)
    links = topology.bandwidth_per_chip
    return Estimate(
        compute=flops / (generation.flops / devices),
        memory=bytes_accessed / (generation.memory_bandwidth / devices),
        links=sent / links if links else 0.0,
        latency=_HOP_SECONDS * hops,
        dispatch=_DISPATCH_SECONDS / steps,
        hidden=(sent_beside / links if links else 0.0) + _HOP_SECONDS * hops_beside,
    )


def _hops(collective: Collective, topology: Topology) -> int:
    """Return over how many links a message goes, one after the other, before a collective can be over."""
    if topology.num_chips == 1:
        return 0
    if collective.kind == "collective-permute":
        return 1
    # Of a part of the slice nobody says where it lies: its ring is used in both directions.
    chips = collective.group // topology.generation.devices_per_chip
    hops = (
        topology.num_hops if collective.group == topology.num_devices else min(topology.num_hops, chips // 2)
    )
    return 2 * hops if collective.kind == "all-reduce" else hops


def _count_sent(collective: Collective) -> float:
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
