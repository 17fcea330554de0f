"""What every way of combining the replicas' values has in common: `CrossDeviceOps` (distribute layer).

The ways themselves are in `_cross_device_ops.py`.
"""

import abc
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.cluster import LogicalDevice, PhysicalDevice, resolve_device
from stratax.core import regions
from stratax.distribute.replicas import (
    REPLICA_AXES,
    PerReplica,
    ReduceOp,
    as_reduce_op,
    count_replicas,
    map_over_replicas,
    mesh_of,
)
from stratax.errors import BadArgumentError, BadTypeError, StructureError

# The names of the axes of the replicas, which collectives take for one.
Axes = tuple[str, ...]
ReduceInReplica = Callable[..., list[jax.Array]]


class CrossDeviceOps(abc.ABC):
    """How the values of several replicas become one, as ``tf.distribute.CrossDeviceOps``.

    A strategy calls `reduce_in_replica` while it traces a replica's program: with the gradients, with the
    updates of aggregated variables, and for `ReplicaContext.all_reduce`. The other methods combine `PerReplica`
    values between programs. To write your own, derive from this class, or from `AllReduceCrossDeviceOps` if
    it should pack small arrays too, and pass an instance to a strategy.

    Example:
        >>> class EveryonesMaximum(CrossDeviceOps):
        ...     def reduce_in_replica(self, op, arrays, axis_name, num_replicas):
        ...         return [lax.pmax(array, axis_name) for array in arrays]
        >>> ops = EveryonesMaximum()
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        # Defined by this class itself; an inherited one has been checked already.
        override = cls.__dict__.get("reduce_in_replica")
        if override is not None and not getattr(override, "__isabstractmethod__", False):
            _check_signature(cls, override)
            setattr(cls, "reduce_in_replica", _check(cls, override))  # noqa: B010 (mypy: a method)

    @abc.abstractmethod
    def reduce_in_replica(
        self, op: ReduceOp, arrays: Sequence[jax.Array], axis_name: Axes, num_replicas: int
    ) -> list[jax.Array]:
        """Combine arrays over the replicas, from inside a replica's program.

        Called while that program is traced, once for all replicas; use `jax.lax` collectives over `axis_name`.

        Args:
            op: Sum or mean.
            arrays: This replica's traced arrays, of any shapes and dtypes.
            axis_name: The mesh axes of the replicas, which collectives take for one.
            num_replicas: How many replicas there are.

        Returns:
            One array for each of `arrays`, of the same shapes: the combined values, the same in every replica.
        """

    def gather_in_replica(self, array: jax.Array, axis: int, axis_name: Axes) -> jax.Array:
        """Concatenate the replicas' arrays, from inside a replica's program.

        Args:
            array: This replica's traced array, with at least one dimension.
            axis: The dimension along which to concatenate.
            axis_name: The mesh axes of the replicas, which collectives take for one.

        Returns:
            The arrays of all replicas in their order, the same in every replica.

        Raises:
            BadArgumentError: If `array` has no such dimension.
        """
        _check_axis(axis, np.ndim(array))
        return lax.all_gather(array, axis_name, axis=axis % np.ndim(array), tiled=True)

    def reduce(
        self, reduce_op: ReduceOp | str, per_replica_value: object, destinations: object = None
    ) -> jax.Array:
        """Combine the components of one value.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or the name.
            per_replica_value: A `PerReplica` laid out over a mesh; anything else is a single component.
            destinations: Where the result should be: a device or its name, a list of them, or a value (an
                array, a variable, a `PerReplica`) to be placed like; None: on every replica's device.

        Returns:
            The combined value, of a component's shape.

        Raises:
            BadArgumentError: If `reduce_op` is unknown or the value is not laid out over a mesh.
            DeviceError: If a device of `destinations` does not exist.
        """
        return self.batch_reduce(reduce_op, [(per_replica_value, destinations)])[0]

    def batch_reduce(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[jax.Array]:
        """Combine the components of several values in one program.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or the name.
            value_destination_pairs: Pairs of what `reduce` takes as value and destinations.

        Returns:
            The combined values, in order.

        Raises:
            BadArgumentError: If `reduce_op` is unknown or a value is not laid out over a mesh.
            DeviceError: If a device of a destination does not exist.
        """
        op = as_reduce_op(reduce_op)
        # A value with one component needs no collective, and would have no mesh.
        results: list[Any] = [_single_component(value) for value, _ in value_destination_pairs]
        # One program for all values over the same devices.
        by_mesh: dict[Mesh, list[int]] = {}
        for index, (value, _) in enumerate(value_destination_pairs):
            if results[index] is None:
                by_mesh.setdefault(_mesh_of(value), []).append(index)
        for mesh, indices in by_mesh.items():
            stacked = [value_destination_pairs[index][0].array for index in indices]
            for index, reduced in zip(indices, _reduce_program(self, op, mesh)(stacked), strict=True):
                results[index] = reduced
        return [
            _place(result, destinations)
            for result, (_, destinations) in zip(results, value_destination_pairs, strict=True)
        ]

    def all_gather(self, per_replica_value: Any, destinations: Any = None, axis: int = 0) -> jax.Array:
        """Concatenate the components of one value.

        Args:
            per_replica_value: A `PerReplica` laid out over a mesh; anything else is a single component.
            destinations: As for `reduce`.
            axis: The dimension of the components along which to concatenate.

        Returns:
            All components in the order of the replicas, as one array.

        Raises:
            BadArgumentError: If the components have no dimension `axis` or the value is not laid out over a mesh.
            DeviceError: If a device of `destinations` does not exist.
        """
        single = _single_component(per_replica_value)
        _check_axis(axis, per_replica_value.ndim if single is None else np.ndim(single))
        if single is not None:
            return _place(single, destinations)
        gather = _gather_program(self, axis, _mesh_of(per_replica_value))
        return _place(gather(per_replica_value.array), destinations)

    def broadcast(self, tensor: TensorLike, destinations: object) -> jax.Array:
        """Copy one value to every destination.

        Args:
            tensor: An array or number.
            destinations: As for `reduce`.

        Returns:
            The value, a copy on every device of `destinations`.

        Raises:
            DeviceError: If a device of `destinations` does not exist.
        """
        return _place(jnp.asarray(tensor), destinations)


def _check_signature(cls: type, method: Callable[..., Any]) -> None:
    try:
        # Called with what it will be called with; nothing runs.
        inspect.signature(method).bind(None, ReduceOp.SUM, [], REPLICA_AXES, 1)
    except TypeError as error:
        raise BadTypeError(
            f"{cls.__name__}.reduce_in_replica must take (self, op, arrays, axis_name, num_replicas). "
            f"Received: {inspect.signature(method)}."
        ) from error


def _check(cls: type, method: ReduceInReplica) -> ReduceInReplica:
    """Wrap an override so that a wrong result is reported where it was made, not where it is used."""

    @functools.wraps(method)
    def reduce_in_replica(
        self: CrossDeviceOps, op: ReduceOp, arrays: Sequence[jax.Array], axis_name: Axes, num_replicas: int
    ) -> list[jax.Array]:
        results = method(self, op, arrays, axis_name, num_replicas)
        wanted = [np.shape(array) for array in arrays]
        if not isinstance(results, list | tuple) or [np.shape(result) for result in results] != wanted:
            received = (
                [np.shape(result) for result in results] if isinstance(results, list | tuple) else results
            )
            raise StructureError(
                f"{cls.__name__}.reduce_in_replica must return a list with one array for each array it was "
                f"given, of the same shapes: {shown(wanted)}. Received: {shown(received)}."
            )
        return list(results)

    return reduce_in_replica


@functools.lru_cache(maxsize=128)
def _reduce_program(ops: CrossDeviceOps, op: ReduceOp, mesh: Mesh) -> Callable[..., list[jax.Array]]:
    def reduce_components(stacked: list[jax.Array]) -> list[jax.Array]:
        return ops.reduce_in_replica(op, [array[0] for array in stacked], REPLICA_AXES, count_replicas(mesh))

    return _over_replicas(reduce_components, mesh)


@functools.lru_cache(maxsize=128)
def _gather_program(ops: CrossDeviceOps, axis: int, mesh: Mesh) -> Callable[..., jax.Array]:
    return _over_replicas(lambda stacked: ops.gather_in_replica(stacked[0], axis, REPLICA_AXES), mesh)


def _over_replicas(function: Callable[..., Any], mesh: Mesh) -> Callable[..., Any]:
    per_replica, replicated = PartitionSpec(REPLICA_AXES), PartitionSpec()
    # Cached above by mesh and operation: `jax.jit` of a new function would compile again on every call.
    return regions.jit(
        map_over_replicas(function, mesh, per_replica, replicated),
        name=function.__name__,
    )


def _single_component(value: object) -> jax.Array | None:
    if not isinstance(value, PerReplica):
        return jnp.asarray(value)
    return value.array if value.solo else None


def _mesh_of(value: PerReplica) -> Mesh:
    # A traced array's mesh is abstract: it has no devices to lay a program out over.
    sharding = None if isinstance(value.array, jax.core.Tracer) else value.array.sharding
    if isinstance(sharding, NamedSharding) and tuple(sharding.spec)[:1] == (REPLICA_AXES,):
        mesh = sharding.mesh
        if isinstance(mesh, Mesh):
            return mesh
    raise BadArgumentError(
        "The components of this PerReplica are not laid out over the devices of a mesh. Make it with a strategy "
        "(strategy.run, experimental_distribute_values_from_function). "
        f"Received: an array of shape {np.shape(value.array)} with sharding={shown(sharding)}."
    )


def _place(array: jax.Array, destinations: object) -> jax.Array:
    return array if destinations is None else jax.device_put(array, _placement(destinations))


def _placement(destinations: object) -> Sharding:
    if isinstance(destinations, str | LogicalDevice | PhysicalDevice | jax.Device):
        return SingleDeviceSharding(resolve_device(destinations))
    if isinstance(destinations, list | tuple):
        devices = [resolve_device(device) for device in destinations]
        return NamedSharding(mesh_of(devices), PartitionSpec())
    # A value stands for where it lies.
    like = destinations.value if isinstance(destinations, keras.Variable) else destinations
    like = like.array if isinstance(like, PerReplica) else like
    if not isinstance(like, jax.Array):
        raise BadTypeError(
            "destinations must be a device or its name, a list of them, or a value to be placed like (an array, "
            f"a variable, a PerReplica). Received: destinations={shown(destinations)}."
        )
    sharding = like.sharding
    return NamedSharding(sharding.mesh, PartitionSpec()) if isinstance(sharding, NamedSharding) else sharding


def _check_axis(axis: int, num_dims: int) -> None:
    if not -num_dims <= axis < num_dims:
        raise BadArgumentError(
            f"Components with {num_dims} dimensions can't be concatenated along that axis: it must be between "
            f"{-num_dims} and {num_dims - 1}. Received: axis={shown(axis)}. Give scalars a dimension first."
            if num_dims
            else f"Scalars can't be concatenated: give each a dimension first. Received: axis={shown(axis)}."
        )
