"""Putting the arrays of steps where the replicas of a strategy compute (distribute layer)."""

import abc
import functools
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from stratax.core.storage import check_fits, place, place_local
from stratax.distribute import input as distributed
from stratax.distribute.input._steps import StepKind, Steps, wrap_step
from stratax.distribute.replicas import REPLICA_AXES, Share


class Placing(abc.ABC):
    """Puts the arrays of steps where the replicas of a strategy compute. Each strategy's input has one."""

    @abc.abstractmethod
    def place(self, arrays: list[Any], kind: StepKind, *, is_stacked: bool) -> list[Any]:
        """Return arrays of one step, or of several, as the strategy's programs take them.

        Args:
            arrays: Arrays of NumPy: this process's part of them where they are spread over replicas.
            kind: How they belong to the replicas.
            is_stacked: Whether a leading dimension counts steps.
        """

    def hand_over(self, arrays: list[Any], kind: StepKind) -> list[Any]:
        """Return arrays of one step as a compiled program takes them, which may move them by itself.

        Args:
            arrays: As in :meth:`place`.
            kind: How they belong to the replicas.
        """
        return self.place(arrays, kind, is_stacked=False)

    def whole_shape(self, shape: tuple[int, ...], kind: StepKind) -> tuple[int, ...]:
        """Return the shape, over all processes, of a step's array that has `shape` in this one."""
        return shape

    def describe(self, steps: Steps) -> Any:
        """Return a step with `jax.ShapeDtypeStruct` leaves; the same object for steps of one kind."""
        if steps.description is None:
            types = tuple(
                [(self.whole_shape(leaf.shape[1:], steps.kind), leaf.dtype) for leaf in steps.leaves]
            )
            # Cached: whoever compares structures sees one object again and again.
            steps.description = _describe(steps.kind, steps.treedef, types)
        return steps.description

    def global_batch(self, steps: Steps) -> Any:
        """Return a step as it was before it was divided, with `jax.ShapeDtypeStruct` leaves."""
        leaves = []
        for leaf in steps.leaves:
            shape = self.whole_shape(leaf.shape[1:], steps.kind)
            if steps.kind is StepKind.SPREAD:
                shape = (shape[0] * shape[1], *shape[2:])
            leaves.append(jax.ShapeDtypeStruct(shape, leaf.dtype))
        return jax.tree.unflatten(steps.treedef, leaves)


class OnMesh(Placing):
    """Puts steps on the devices of a mesh, each replica's part on its own.

    Args:
        mesh: The mesh of the replicas.
    """

    def __init__(self, mesh: Mesh) -> None:
        whole = NamedSharding(mesh, PartitionSpec())
        # One replica may be several devices.
        is_one = mesh.size == 1
        first = SingleDeviceSharding(mesh.devices.flat[0]) if is_one else whole
        self._is_of_jax = is_one and mesh.devices.flat[0] == jax.local_devices()[0]
        # A sharding is made once: JAX compares them by identity first.
        others: dict[StepKind, Sharding] = {StepKind.SOLO: whole, StepKind.PLAIN: first}
        self._bare = {StepKind.SPREAD: NamedSharding(mesh, PartitionSpec(REPLICA_AXES)), **others}
        self._stacked = {StepKind.SPREAD: NamedSharding(mesh, PartitionSpec(None, REPLICA_AXES)), **others}

    def place(self, arrays: list[Any], kind: StepKind, *, is_stacked: bool) -> list[Any]:
        return list(place(arrays, (self._stacked if is_stacked else self._bare)[kind]))

    def hand_over(self, arrays: list[Any], kind: StepKind) -> list[Any]:
        # Where a program computes that says nothing of its devices.
        is_default = self._is_of_jax and jax.config.jax_default_device is None  # type: ignore[attr-defined]
        if kind is StepKind.PLAIN and is_default:
            # As arguments of a program JAX moves them in a fifth of the time that `device_put` takes.
            check_fits(arrays)
            return arrays
        return self.place(arrays, kind, is_stacked=False)


class OnMeshOfWorkers(OnMesh):
    """Puts steps on a mesh over several processes, each of which holds the parts of its own replicas.

    Args:
        mesh: The mesh.
        share: Which of the replicas are this process's.
    """

    def __init__(self, mesh: Mesh, share: Share) -> None:
        super().__init__(mesh)
        self._num_processes = share.processes

    def place(self, arrays: list[Any], kind: StepKind, *, is_stacked: bool) -> list[Any]:
        if kind is not StepKind.SPREAD:
            return super().place(arrays, kind, is_stacked=is_stacked)
        sharding = (self._stacked if is_stacked else self._bare)[kind]
        lead = 1 if is_stacked else 0
        return [
            place_local(leaf, sharding, (*leaf.shape[:lead], *self.whole_shape(leaf.shape[lead:], kind)))
            for leaf in arrays
        ]

    def whole_shape(self, shape: tuple[int, ...], kind: StepKind) -> tuple[int, ...]:
        # Every process holds as many replicas.
        return (shape[0] * self._num_processes, *shape[1:]) if kind is StepKind.SPREAD else shape


class OnDefaultDevice(Placing):
    """Puts the steps of one replica where JAX computes by itself: for strategies that have no devices of their own."""

    def place(self, arrays: list[Any], kind: StepKind, *, is_stacked: bool) -> list[Any]:
        check_fits(arrays)
        return list(jax.device_put(arrays))

    def hand_over(self, arrays: list[Any], kind: StepKind) -> list[Any]:
        check_fits(arrays)
        return arrays


class OnHost(Placing):
    """Leaves steps on the host, as NumPy arrays.

    Args:
        placing: Where the strategy would put them.
    """

    def __init__(self, placing: Placing) -> None:
        self._placing = placing

    def place(self, arrays: list[Any], kind: StepKind, *, is_stacked: bool) -> list[Any]:
        return arrays

    def whole_shape(self, shape: tuple[int, ...], kind: StepKind) -> tuple[int, ...]:
        return self._placing.whole_shape(shape, kind)


@functools.lru_cache(maxsize=256)
def _describe(kind: StepKind, treedef: object, types: tuple[tuple[tuple[int, ...], Any], ...]) -> Any:
    if any(dtype.hasobject for _, dtype in types):
        distributed.refuse_text()
    # As it arrives on devices, which have no 64 bits unless JAX is told so.
    leaves = [jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype)) for shape, dtype in types]
    return wrap_step(leaves, treedef, kind)
