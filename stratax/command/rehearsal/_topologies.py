"""Names of TPU slices, and the devices in them (rehearsal layer)."""

import dataclasses
import math
import re
from typing import Any

from stratax.base.shown import shown
from stratax.command.rehearsal._hardware import GENERATIONS, Generation
from stratax.errors import BadArgumentError, BadTypeError

_SHAPE = re.compile(r"(?P<generation>\w+):(?P<shape>[0-9x]+)")
_ACCELERATOR = re.compile(r"(?P<generation>\w+?)-(?P<count>[0-9]+)")
# What the cloud calls it where slices are named by their size.
_OTHER_NAMES = {"v5litepod": "v5e"}


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    """A slice of a TPU pod.

    Attributes:
        generation: What its chips are.
        shape: The chips along each dimension.
    """

    generation: Generation
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its name, such as ``v5e:4x4``."""
        return f"{self.generation.name}:{'x'.join(map(str, self.shape))}"

    @property
    def accelerator_type(self) -> str:
        """The cloud's name of its size, such as ``v5e-16``: it counts cores up to v4 and of v5p, else chips."""
        return f"{self.generation.name}-{self.num_chips * (self.generation.cores_per_chip or 1)}"

    @property
    def num_chips(self) -> int:
        """How many chips it has."""
        return math.prod(self.shape)

    @property
    def num_devices(self) -> int:
        """How many devices JAX sees, of which each is a replica."""
        return self.num_chips * self.generation.devices_per_chip

    @property
    def memory_per_device(self) -> int:
        """Bytes of memory that a device has."""
        return self.generation.memory // self.generation.devices_per_chip

    @property
    def bandwidth_per_chip(self) -> float:
        """Bytes per second that a chip can send in an all-reduce over the whole slice.

        A dimension that is a ring is used in both directions at once, one that ends at its borders in one.
        """
        return self.generation.link_bandwidth * sum(
            2 if self._is_ring(size) else 1 for size in self.shape if size > 1
        )

    @property
    def num_hops(self) -> int:
        """How many links lie between the two chips that are farthest from one another."""
        return sum(size // 2 if self._is_ring(size) else size - 1 for size in self.shape)

    def _is_ring(self, size: int) -> bool:
        full = self.generation.full_dim
        if self.generation.rings_by_cubes:
            return all(each % full == 0 for each in self.shape)
        return size == full

    def devices(self) -> list[Any]:
        """Return devices that programs can be compiled for, and not run on."""
        # Late: it starts libtpu.
        from jax.experimental import topologies

        options: dict[str, Any] = {"chip_config_name": self.generation.chip_config}
        if self.num_chips == 1:
            # The default is a host with four chips.
            options["chips_per_host_bounds"] = (1, 1, 1)
        return list(topologies.get_topology_desc(self.name, "tpu", **options).devices)


def parse_topology(name: str) -> Topology:
    """Read the name of a slice.

    Args:
        name: A generation and a shape (``v5e:4x4``), or a size as the cloud names it (``v5e-16``, ``v5litepod-16``,
            ``v3-8``).

    Raises:
        BadArgumentError: If there is none of that name.
        BadTypeError: If it is no string.

    Example:
        >>> parse_topology("v3-8").name, parse_topology("v5e:16x16").num_devices
        ('v3:2x2', 256)
    """
    if not isinstance(name, str):
        raise BadTypeError(
            f"A topology is named by a string, such as 'v5e:4x4'. Received: topology={shown(name)}."
        )
    wanted = name.strip().lower()
    for topology in known_topologies():
        if wanted in _names(topology):
            return topology
    raise BadArgumentError(
        f"There is no TPU topology {shown(name)}. Expected one of: {_listing(wanted)}. {_hint(wanted)}"
    )


def known_topologies() -> list[Topology]:
    """Return the slices that programs can be compiled for."""
    return [
        Topology(generation, tuple(map(int, shape.split("x"))))
        for generation in GENERATIONS.values()
        for shape in generation.shapes
    ]


def _names(topology: Topology) -> set[str]:
    names = {topology.name, topology.accelerator_type}
    return names | {
        topology.accelerator_type.replace(f"{known}-", f"{other}-") for other, known in _OTHER_NAMES.items()
    }


def _listing(wanted: str) -> str:
    """Return the known names, those of one generation if it is clear which is meant."""
    match = _SHAPE.fullmatch(wanted) or _ACCELERATOR.fullmatch(wanted)
    meant = _OTHER_NAMES.get(match["generation"], match["generation"]) if match else ""
    chosen = [GENERATIONS[meant]] if meant in GENERATIONS else list(GENERATIONS.values())
    return "; ".join(f"{each.name}:" + f", {each.name}:".join(each.shapes) for each in chosen)


def _hint(wanted: str) -> str:
    return "Sizes as the cloud names them, such as v3-8 or v5e-16, are known, too."
