"""Which cores of a TPU are which replicas, as ``tf.tpu.experimental.DeviceAssignment`` (cluster layer)."""

import collections
import enum
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.cluster._resolvers import Topology
from stratax.errors import BadArgumentError, BadTypeError

Coordinates = tuple[int, ...]


class DeviceOrderMode(enum.IntEnum):
    """In which order cores are assigned, as ``tf.tpu.experimental.DeviceOrderMode``."""

    AUTO = 0
    """In rings where blocks of whole chips fill the TPU, else in meshes."""
    RING = 1
    """Along closed ways, of which each step goes to a neighbour."""
    MESH = 2
    """Row by row."""


class DeviceAssignment:
    """Says which cores of a TPU each replica has, as ``tf.tpu.experimental.DeviceAssignment``.

    Args:
        topology: How the TPU's cores are arranged: what `initialize_tpu_system` returned.
        core_assignment: Whole numbers of shape `[replicas, cores of a replica, 4]`: the coordinates of each core.

    Raises:
        BadTypeError: If `topology` is none (a `TypeError`).
        BadArgumentError: If the shape is another one, a core does not exist, or is assigned twice.

    Example:
        >>> import stratax as sx
        >>> try:
        ...     topology = sx.tpu.initialize_tpu_system()
        ...     pairs = sx.tpu.DeviceAssignment.build(topology, [1, 1, 1, 2], num_replicas=2)
        ...     strategy = sx.distribute.TPUStrategy(experimental_device_assignment=pairs)
        ... except ValueError:
        ...     strategy = sx.distribute.get_strategy()
    """

    def __init__(self, topology: Topology, core_assignment: Any) -> None:
        _check_topology(topology)
        assigned = np.asarray(core_assignment, np.int32)
        if assigned.ndim != 3 or assigned.shape[-1] != len(topology.mesh_shape):
            raise BadArgumentError(
                "core_assignment must be of shape [replicas, cores of a replica, "
                f"{len(topology.mesh_shape)}]. Received: an array of shape {assigned.shape}."
            )
        self._topology = topology
        self._assigned = assigned
        self._places: dict[Coordinates, int] = {
            place: index for index, place in enumerate(topology.device_coordinates)
        }
        cores = [tuple(map(int, core)) for core in assigned.reshape(-1, assigned.shape[-1])]
        counts = collections.Counter(cores)
        wrong = [core for core, count in counts.items() if core not in self._places or count > 1]
        if wrong:
            raise BadArgumentError(
                "core_assignment must have cores of the topology, each once. Expected: some of "
                f"{shown(topology.device_coordinates)}. Received: {shown(wrong)}."
            )

    @classmethod
    def build(
        cls,
        topology: Topology,
        computation_shape: Sequence[int] | None = None,
        computation_stride: Sequence[int] | None = None,
        num_replicas: int = 1,
        device_order_mode: DeviceOrderMode = DeviceOrderMode.AUTO,
    ) -> "DeviceAssignment":
        """Choose blocks of cores that lie beside one another, the same ones as TensorFlow.

        Args:
            topology: How the TPU's cores are arranged.
            computation_shape: How many cores a replica has along x, y, z and within a chip; None: one.
            computation_stride: How far apart they are in each dimension; None: neighbours.
            num_replicas: How many replicas there are.
            device_order_mode: In which order cores are taken.

        Raises:
            BadTypeError: If `topology` is none.
            BadArgumentError: If the numbers are not four positive ones, the replicas do not fit, or cores are to be
                taken in rings where they do not form any.
        """
        _check_topology(topology)
        mesh = np.array(topology.mesh_shape)
        shape = _check_numbers("computation_shape", computation_shape, len(mesh))
        stride = _check_numbers("computation_stride", computation_stride, len(mesh))
        footprint = shape * stride
        counts = mesh // footprint * stride
        if num_replicas < 1 or num_replicas > math.prod(counts):
            raise BadArgumentError(
                f"The replicas do not fit into a TPU of shape {tuple(mesh.tolist())}. Expected: 1 to "
                f"{math.prod(counts)} replicas of shape {tuple(shape.tolist())} with stride {tuple(stride.tolist())}. "
                f"Received: num_replicas={shown(num_replicas)}."
            )
        if len(topology.device_coordinates) < math.prod(mesh):
            return cls(topology, _in_order(topology, num_replicas, math.prod(shape), stride))
        # Rings go through whole chips.
        has_rings = shape[-1] == mesh[-1] and math.prod(stride) == 1 and num_replicas == math.prod(counts)
        if device_order_mode == DeviceOrderMode.RING and not has_rings:
            raise BadArgumentError(
                "Cores are taken in rings where replicas of whole chips fill the TPU. Expected: "
                f"device_order_mode=DeviceOrderMode.AUTO. Received: {math.prod(counts)} replicas fit, num_replicas="
                f"{num_replicas}, computation_shape={tuple(shape.tolist())}."
            )
        grid = _grid_of(num_replicas, counts)
        if has_rings and device_order_mode != DeviceOrderMode.MESH:
            return cls(topology, _in_rings(grid, shape))
        within = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, len(mesh))
        starts = np.array([_position(replica, grid) for replica in range(num_replicas)])
        starts = starts // stride * footprint + starts % stride
        return cls(topology, starts[:, None] + within * stride)

    @property
    def topology(self) -> Topology:
        """How the TPU's cores are arranged."""
        return self._topology

    @property
    def num_replicas(self) -> int:
        """How many replicas there are."""
        return len(self._assigned)

    @property
    def num_cores_per_replica(self) -> int:
        """How many cores a replica has."""
        return self._assigned.shape[1]

    @property
    def core_assignment(self) -> np.ndarray:
        """The coordinates of each core: whole numbers of shape `[replicas, cores of a replica, 4]`."""
        return self._assigned

    def coordinates(self, replica: int, logical_core: int) -> Coordinates:
        """Return the coordinates of a replica's core."""
        return tuple(map(int, self._assigned[replica, logical_core]))

    def device_index(self, replica: int, logical_core: int) -> int:
        """Return which of the TPU's devices a replica's core is, in the order of JAX's devices."""
        return self._places[self.coordinates(replica, logical_core)]

    def tpu_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """Return the name of a replica's core.

        Args:
            replica: The replica.
            logical_core: Its core.
            job: The job in the name; None for the one that the topology has.
        """
        name = self._topology.device_names[self.device_index(replica, logical_core)]
        return name if job is None else re.sub(r"^/job:\w+", f"/job:{job}", name)

    def host_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """Return the name of the CPU beside a replica's core; see :meth:`tpu_device`."""
        return f"{self.tpu_device(replica, logical_core, job).partition('/device:')[0]}/device:CPU:0"

    def tpu_ordinal(self, replica: int = 0, logical_core: int = 0) -> int:
        """Return the number of a replica's core among those of its host."""
        return int(self.tpu_device(replica, logical_core).rpartition(":")[2])

    def lookup_replicas(self, task_id: int, logical_core: int) -> list[int]:
        """Return the replicas one of whose cores is on a host, in order.

        Args:
            task_id: The number of the host.
            logical_core: Which core of a replica.

        Raises:
            BadArgumentError: If there is none.
        """
        found = [
            replica
            for replica in range(self.num_replicas)
            if logical_core < self.num_cores_per_replica
            and f"/task:{task_id}/" in self.tpu_device(replica, logical_core)
        ]
        if not found:
            raise BadArgumentError(
                "No replica has such a core on that host. Received: "
                f"task_id={shown(task_id)}, logical_core={shown(logical_core)}."
            )
        return found


def _check_topology(topology: object) -> None:
    if not isinstance(topology, Topology):
        raise BadTypeError(
            "topology must be what stratax.tpu.initialize_tpu_system returned, a Topology. Received: "
            f"topology={shown(topology)}."
        )


def _check_numbers(name: str, given: Sequence[int] | None, rank: int) -> np.ndarray:
    numbers = np.ones(rank, np.int64) if given is None else np.asarray(given)
    if numbers.shape != (rank,) or numbers.dtype.kind not in "iu" or (numbers < 1).any():
        raise BadArgumentError(
            f"{name} must be {rank} positive whole numbers: along x, y, z and within a chip. Received: "
            f"{name}={shown(given)}."
        )
    return numbers


def _in_order(topology: Topology, num_replicas: int, num_cores: int, stride: np.ndarray) -> np.ndarray:
    """Return the cores of a TPU of which some are missing: in the order of its hosts."""
    cores = np.array(topology.device_coordinates)
    if num_replicas * num_cores > len(cores) or math.prod(stride) > 1:
        raise BadArgumentError(
            f"The TPU has {len(cores)} cores, fewer than its shape {topology.mesh_shape} says. Expected: at most as "
            "many, and no stride. Received: "
            f"num_replicas={num_replicas}, {num_cores} cores in each, computation_stride={tuple(stride.tolist())}."
        )
    return cores[: num_replicas * num_cores].reshape(num_replicas, num_cores, -1)


def _grid_of(num_replicas: int, counts: np.ndarray) -> list[int]:
    """Return how many replicas lie along each dimension: as even as can be, the narrowest dimension first.

    Of dimensions alike, that within a chip comes first: replicas rather share a chip than lie on two.
    """
    rank = len(counts)
    grid, left = [1] * rank, num_replicas
    for done, dim in enumerate(sorted(range(rank), key=lambda dim: (counts[dim], (dim + 1) % rank))):
        grid[dim] = min(math.ceil(left ** (1 / (rank - done))), int(counts[dim]))
        left = math.ceil(left / grid[dim])
    return grid


def _position(replica: int, grid: Sequence[int]) -> list[int]:
    """Return where a replica lies in a grid: those within a chip are counted first, then along x, y and z."""
    found = [0] * len(grid)
    for dim in (len(grid) - 1, *range(len(grid) - 1)):
        replica, found[dim] = divmod(replica, grid[dim])
    return found


def _in_rings(grid: Sequence[int], shape: np.ndarray) -> np.ndarray:
    """Return replicas along a closed way through their blocks, and each one's cores along one through its chips."""
    ways = _ring(*map(int, grid[:3])), _ring(*map(int, shape[:3]))
    starts, chips = (np.array(way) for way in ways)
    cores = np.array([[*chip, core] for chip in chips for core in range(shape[-1])])
    blocks = np.concatenate([starts * shape[:3], np.zeros((len(starts), 1), int)], 1)
    return blocks[:, None] + cores


def _ring(x: int, y: int, z: int) -> list[Coordinates]:
    """Return a closed way through a box, of which each step goes to a neighbour, where its sizes are even."""
    sizes = (x, y, z)
    wide = [dim for dim in range(3) if sizes[dim] > 1]
    if len(wide) < 2 or any(sizes[dim] % 2 for dim in wide):
        # Along a line, or row by row.
        return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
    if len(wide) == 2:
        first, second = wide
        flat = [(0, 0), *_snake(sizes[first], sizes[second])]
        return [tuple(dict(zip(wide, place, strict=True)).get(dim, 0) for dim in range(3)) for place in flat]
    layer = _snake(x, y)
    through = [
        (*place, height) for height in range(z) for place in (layer if height % 2 == 0 else layer[::-1])
    ]
    # Back along the corner that every layer leaves out.
    return [(0, 0, 0), *through, *((0, 0, height) for height in range(z - 1, 0, -1))]


def _snake(width: int, height: int) -> list[tuple[int, int]]:
    """Return a way through a rectangle but for its first corner, from one neighbour of that to the other."""
    rows = [
        [(i, j) for i in (range(1, width) if j % 2 == 0 else range(width - 1, 0, -1))] for j in range(height)
    ]
    return [*(place for row in rows for place in row), *((0, j) for j in range(height - 1, 0, -1))]
