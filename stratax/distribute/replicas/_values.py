"""Values that differ between replicas: `PerReplica` (distribute layer)."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

from stratax.base.shown import shown
from stratax.data.elements import tensor_repr, tensor_str
from stratax.errors import BadArgumentError, BadTypeError, StructureError

# The axes of a mesh along which replicas lie: groups of them, and those in a group, which may divide variables among
# themselves. In collectives and specifications they stand for one axis.
REPLICA_AXES = ("replica", "shard")
# The second of them.
SHARD_AXIS = "shard"
# The axis along which devices share a replica: they have parts of its variables, and the compiler divides its work.
MODEL_AXIS = "model"

_Class = TypeVar("_Class")
_BINARY = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
_OPERATORS = (
    *_BINARY,
    *(f"r{name}" for name in _BINARY),
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "pos",
    "abs",
    "invert",
)
# `__jax_array__` is how JAX asks a foreign object for its array, `__array__` how NumPy does.
_CONVERSIONS = ("array", "bool", "complex", "float", "getitem", "index", "int", "jax_array", "len")


@jax.tree_util.register_pytree_node_class
class PerReplica:
    """One value that has a component for every replica, as TensorFlow's `PerReplica`.

    It holds one array with a leading replica dimension that is sharded over the axes of the replicas, so
    each component lies on the device of its replica and nothing is copied to make one. `Strategy.run` takes
    structures of them apart and puts its results together again; a structure of outputs is a structure of
    `PerReplica`. It is a pytree node with that one array as its leaf.

    A batch that can't be divided among the replicas is a `PerReplica` with exactly one component, the whole
    batch, which every replica has (``solo=True``).

    Args:
        array: Shape ``(num_replicas, *shape)``, or with `solo` just ``shape``. A `jax.Array`, concrete or traced.
        solo: Whether `array` is one component for all replicas together.

    Raises:
        BadArgumentError: If `array` has no replica dimension though it is not `solo`.

    Example:
        >>> print(PerReplica(jnp.array([[1.0], [2.0]])))
        PerReplica:{
          0: tf.Tensor([1.], shape=(1,), dtype=float32),
          1: tf.Tensor([2.], shape=(1,), dtype=float32)
        }
    """

    __slots__ = ("_array", "_place", "_solo", "_values")

    # What NumPy would otherwise answer for us, element by element.
    __array_ufunc__ = None

    def __init__(self, array: Any, *, solo: bool = False) -> None:
        if not solo and np.ndim(array) == 0:
            raise BadArgumentError(
                "The array of a PerReplica needs a leading dimension, one entry for each replica. "
                f"Received: array={shown(array)} of shape (). Stack the replicas' components first."
            )
        self._array = array
        self._solo = solo
        self._values: tuple[Any, ...] | None = None
        # Where a sum of the components is to lie, which devices have in parts; none of the structure's types.
        self._place: NamedSharding | None = None

    @property
    def array(self) -> Any:
        """All components as one array: ``(num_components, *shape)``, sharded; without that dimension if solo."""
        return self._array

    @property
    def solo(self) -> bool:
        """Whether the one component is a whole batch that every replica has."""
        return self._solo

    @property
    def num_components(self) -> int:
        """How many components there are: one for each replica of the strategy, or one in all if solo."""
        return 1 if self._solo else int(self._array.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one component."""
        return tuple(self.array.shape if self._solo else self.array.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the components."""
        return np.dtype(self._array.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions of one component."""
        return len(self.shape)

    @property
    def values(self) -> tuple[Any, ...]:
        """The components that this process can address, each of `shape` and on its replica's device.

        In the order of the replicas. Inside a compiled function they are slices of the traced array.
        """
        if self._values is None:
            values = _components(self.array, solo=self._solo)
            # Not kept: tracers are of no use once their trace is over.
            if isinstance(self._array, jax.core.Tracer):
                return values
            self._values = values
        return self._values

    def tree_flatten(self) -> tuple[tuple[Any], bool]:
        """Return the array as the only leaf; whether it is solo as the static part."""
        return (self._array,), self._solo

    @classmethod
    def tree_unflatten(cls, solo: bool, leaves: Sequence[Any]) -> Self:
        """Rebuild the value around any leaf, unchecked: JAX passes placeholders as well as arrays."""
        # Past the check of the initializer.
        per_replica = object.__new__(cls)
        (per_replica._array,) = leaves
        per_replica._solo = solo
        per_replica._values = None
        per_replica._place = None
        return per_replica

    def __str__(self) -> str:
        return self._format(tensor_str)

    def __repr__(self) -> str:
        return self._format(tensor_repr)

    def _format(self, format_component: Callable[[Any], str]) -> str:
        # Slicing a traced array to show its components would leave the slices in the compiled program.
        if isinstance(self._array, jax.core.Tracer) or not isinstance(self._array, jax.Array | np.ndarray):
            return f"PerReplica({self._array}, solo={self._solo})"
        return _list_components(self.values, format_component)

    def _describe(self) -> str:
        if not hasattr(self._array, "shape"):
            return f"a PerReplica around {shown(self._array)}"
        return f"a PerReplica with {self.num_components} components of shape {self.shape} and dtype {self.dtype.name}"


def format_components(values: Sequence[Any], *, is_repr: bool) -> str:
    """Format components as TensorFlow prints a `PerReplica`."""
    return _list_components(values, tensor_repr if is_repr else tensor_str)


def _list_components(values: Sequence[Any], format_component: Callable[[Any], str]) -> str:
    lines = (f"  {index}: {format_component(value)}" for index, value in enumerate(values))
    return "PerReplica:{\n" + ",\n".join(lines) + "\n}"


class _Described(Protocol):
    def _describe(self) -> str:
        """Describe the value in a few words."""


def _refuse_arithmetic(self: _Described, *_: object, **__: object) -> NoReturn:
    raise BadTypeError(
        "A PerReplica is one value for each replica, so it can't be used in arithmetic outside the replicas. "
        "Compute with it in strategy.run(fn, args=(value,)), or combine its components first with "
        f"strategy.reduce(op, value, axis). Received: {self._describe()}."
    )


def _refuse_conversion(self: _Described, *_: object, **__: object) -> NoReturn:
    raise BadTypeError(
        "A PerReplica is one value for each replica, so it can't be used as a single array or number. Compute "
        "with it in strategy.run(fn, args=(value,)), combine its components with strategy.reduce(op, value, axis) or "
        "strategy.gather(value, axis), or look at them with strategy.experimental_local_results(value). "
        f"Received: {self._describe()}."
    )


def refuse_use(cls: type[_Class]) -> type[_Class]:
    """Have the values of a class say what to do instead where one is used as an array or a number."""
    for name in _OPERATORS:
        setattr(cls, f"__{name}__", _refuse_arithmetic)
    for name in _CONVERSIONS:
        setattr(cls, f"__{name}__", _refuse_conversion)
    return cls


refuse_use(PerReplica)


def mesh_of(devices: Sequence[jax.Device], *, groups: int | None = None, model: int = 1) -> Mesh:
    """Make the mesh of the replicas' devices, in their order.

    Args:
        devices: The devices; those of one replica beside one another.
        groups: Into how many groups of neighbours the replicas are divided; None: each is one by itself.
        model: How many devices share a replica.
    """
    shape = (len(devices) // model if groups is None else groups, -1, model)
    axes = (*REPLICA_AXES, MODEL_AXIS)
    return Mesh(np.asarray(devices).reshape(shape), axes, axis_types=(AxisType.Auto,) * len(axes))


def count_replicas(mesh: Mesh | AbstractMesh) -> int:
    """Return how many replicas compute on the devices of a mesh."""
    return math.prod(mesh.shape[axis] for axis in REPLICA_AXES)


def find_first_devices(mesh: Mesh) -> list[jax.Device]:
    """Return the first device of each replica of this process, in their order."""
    return [group[0] for group in _devices_by_replica(mesh)]


def map_over_replicas(
    function: Callable[..., Any], mesh: Mesh | AbstractMesh, in_specs: Any, out_specs: Any
) -> Any:
    """Return a function that computes another one for each replica of a mesh.

    Args:
        function: Of arrays, what a replica has of each; it returns arrays, in structures.
        mesh: The mesh.
        in_specs: How its arguments are divided among replicas, as `jax.shard_map` takes it.
        out_specs: How its results are.
    """
    # Along the other axis the compiler divides, by the places of variables.
    axes = set(REPLICA_AXES if mesh.shape[MODEL_AXIS] > 1 else mesh.axis_names)
    return jax.shard_map(
        function,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names=axes,
        # JAX could not prove of every reduction (a ring, one of the user's own) that its result is equal on all.
        check_vma=False,
    )


def per_replica_from_components(components: Sequence[Any], mesh: Mesh) -> PerReplica:
    """Make one `PerReplica` of one array for each replica.

    Args:
        components: As many arrays (JAX, NumPy or numbers) as `mesh` has replicas in this process, all of one
            shape and dtype, in the order of the replicas.
        mesh: The mesh of the replicas, see :func:`mesh_of`.

    Returns:
        The value, each component on the device of its replica.

    Raises:
        BadArgumentError: If there are not as many components as replicas.
        StructureError: If the components differ in shape or dtype.
    """
    devices, count = find_first_devices(mesh), count_replicas(mesh)
    if len(components) != len(devices):
        raise BadArgumentError(
            f"A per-replica value needs one component for each of the {len(devices)} replicas here. "
            f"Received: {len(components)} components."
        )
    host = [
        component if isinstance(component, jax.Array) else np.asarray(component) for component in components
    ]
    _check_alike(host)
    sharding = NamedSharding(mesh, PartitionSpec(REPLICA_AXES))
    # One transfer for all replicas, which JAX divides; arrays that lie on devices stay there one by one below.
    if not any(isinstance(component, jax.Array) for component in host) and len(devices) == count:
        return PerReplica(jax.device_put(np.stack(host), sharding))
    shards = [
        jax.device_put(component[None], device)
        for component, group in zip(host, _devices_by_replica(mesh), strict=True)
        for device in group
    ]
    # Of all processes: each gives its own shards.
    shape = (count, *host[0].shape)
    return PerReplica(jax.make_array_from_single_device_arrays(shape, sharding, shards))


@jax.tree_util.register_pytree_node_class
class StepsPerReplica(PerReplica):
    """What the replicas get for several steps, as input stacks it: steps first, replicas behind.

    A replica gets it with its own part alone, and takes the dimension of the replicas away in each step. On a TPU the
    batches would be transposed in memory if that was done for all of them, or if the replicas came to the front.

    Args:
        stacked: Shape ``(steps, num_replicas, *shape)``.
    """

    __slots__ = ()

    def __init__(self, stacked: object) -> None:
        super().__init__(stacked)

    @property
    def num_components(self) -> int:
        return int(self._array.shape[1])

    @property
    def stacked(self) -> Any:
        """All of it, steps first."""
        return self._array

    @property
    def array(self) -> Any:
        """All of it, replicas first."""
        return jnp.moveaxis(self._array, 1, 0)


def note_place(value: PerReplica, place: NamedSharding) -> None:
    """Say where a sum of the components is to lie, of which devices are to have parts."""
    value._place = place


def find_noted_place(value: object) -> NamedSharding | None:
    """Return where a sum of the components of a value is to lie, if somebody has said so."""
    return value._place if isinstance(value, PerReplica) else None


def own_step(value: object) -> Any:
    """Return what a replica gets for a step, of what it gets for several."""
    return jnp.squeeze(value.stacked, 0) if isinstance(value, StepsPerReplica) else value


def is_per_replica(value: object) -> bool:
    """Return whether `value` is a `PerReplica`: the `is_leaf` with which to walk structures of them."""
    return isinstance(value, PerReplica)


def _devices_by_replica(mesh: Mesh) -> list[list[jax.Device]]:
    """Return the devices of each replica of this process."""
    return [list(group) for group in mesh.local_mesh.devices.reshape(-1, mesh.shape[MODEL_AXIS])]


def _check_alike(components: Sequence[Any]) -> None:
    signatures = {(tuple(component.shape), np.dtype(component.dtype).name) for component in components}
    if len(signatures) > 1:
        listing = ", ".join(
            f"{np.dtype(component.dtype).name}{list(component.shape)}" for component in components
        )
        raise StructureError(
            "The components of a per-replica value must all have the same shape and dtype, because every replica "
            f"runs the same compiled program. Received, replica by replica: {listing}. Pad them to one shape."
        )


def _components(array: Any, *, solo: bool) -> tuple[Any, ...]:
    if not isinstance(array, jax.Array) or isinstance(array, jax.core.Tracer):
        return (array,) if solo else tuple(array[index] for index in range(array.shape[0]))
    if solo:
        return (array.addressable_data(0),)
    # Replicated shards (an array not laid out over the mesh) would repeat a component: keep one of each.
    shards = {shard.index[0].start or 0: shard.data for shard in array.addressable_shards}
    return tuple(row for start in sorted(shards) for row in _rows(shards[start]))


def _rows(shard: jax.Array) -> list[jax.Array]:
    # A reshape of the shard keeps it on its device without a copy; an index would be a program.
    if shard.shape[0] == 1:
        return [jnp.reshape(shard, shard.shape[1:])]
    return [shard[index] for index in range(shard.shape[0])]
