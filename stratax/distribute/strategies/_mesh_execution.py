"""Replicas that are devices of one mesh, in step: how all strategies of today run (distribute layer)."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import jax.tree_util
import keras
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree, TensorLike
from stratax.core import Function, autograph, control, functions, host, regions, storage
from stratax.distribute import strategies
from stratax.distribute.collectives import CrossDeviceOps, NcclAllReduce
from stratax.distribute.input import ValueContext
from stratax.distribute.replicas import (
    REPLICA_AXES,
    PerReplica,
    PostponedUpdate,
    ReduceOp,
    ReplicaContext,
    ReplicaRegion,
    ReplicaSpread,
    StepsPerReplica,
    ensure_parts,
    enter_contexts,
    from_components,
    is_per_replica,
    map_over_replicas,
    mesh_of,
    note_place,
    parts_on,
    spec_on,
)
from stratax.distribute.strategies._arrangement import ARRANGEMENT
from stratax.distribute.strategies._execution import OverMesh
from stratax.distribute.strategies._membership import InStep, StrategyMembership
from stratax.seams.jax import index_closed_over_arrays

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy


class MeshExecution(OverMesh):
    """Runs a function as one program over the mesh of the replicas' devices.

    Args:
        strategy: The strategy.
        devices: The devices of the replicas, in order. At least one.
        membership: Whose devices they are.
        cross_device_ops: How replicas' values are combined; None for XLA's own all-reduce.
        groups: Into how many groups the replicas are divided that have parts of variables; None: each is one.
        model: How many devices share a replica.

    Raises:
        BadTypeError: If `cross_device_ops` is none.
    """

    def __init__(
        self,
        strategy: "Strategy",
        devices: Sequence[jax.Device],
        membership: StrategyMembership,
        cross_device_ops: CrossDeviceOps | None = None,
        *,
        groups: int | None = None,
        model: int = 1,
    ) -> None:
        if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
            raise errors.BadTypeError(
                "cross_device_ops must be a stratax.distribute.CrossDeviceOps (NcclAllReduce(), "
                "HierarchicalCopyAllReduce(), ReductionToOneDevice(), RingAllReduce() or a subclass of your own). "
                f"Received: cross_device_ops={shown(cross_device_ops)}."
            )
        index_closed_over_arrays()
        self._strategy = strategy
        self._devices = tuple(devices)
        self._membership = membership
        self._cross_device_ops = cross_device_ops or NcclAllReduce()
        self._num_per_replica = model
        self._mesh_of = functools.partial(mesh_of, groups=groups, model=model)
        self._mesh = self._mesh_of(self._devices)
        self._is_moved = False
        # `autograph=False`: the wrapper has no control flow; the user's function is converted inside.
        self._compiled_run = Function(self.call_for_each_replica, autograph=False, calls_argument=True)

    @property
    def num_replicas(self) -> int:
        return len(self._devices) // self._num_per_replica

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        return self._devices

    @property
    def mesh(self) -> Mesh:
        return self._mesh

    @property
    def compiled_run(self) -> Function:
        """The compiled function `(fn, args, kwargs)` by which a function is run outside of compiled functions."""
        return self._compiled_run

    @contextlib.contextmanager
    def on_other_devices(self, devices: Sequence[jax.Device]) -> Iterator[None]:
        """Have replicas be other devices, as many as are given, while programs are traced in a block."""
        kept = self._devices, self._mesh, self._num_per_replica
        arranged = ARRANGEMENT.get()
        if arranged is None:
            self._mesh = self._mesh_of(devices)
        else:
            self._mesh = mesh_of(devices, groups=arranged.replicas, model=arranged.model)
            self._num_per_replica = arranged.model
        self._devices, self._is_moved = tuple(devices), True
        try:
            yield
        finally:
            (self._devices, self._mesh, self._num_per_replica), self._is_moved = kept, False

    @property
    def cross_device_ops(self) -> CrossDeviceOps:
        return self._cross_device_ops

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(self._devices) > self._num_per_replica and storage.read_listeners():
            raise errors.StrategyError(
                "strategy.run was called inside a GradientTape, which sees operations one by one; replicas run as one "
                "program. Expected: the tape inside of the function that run calls, where gradients are a replica's. "
                f"Received: fn={shown(fn)}. Move the tape there, or differentiate the whole with "
                "`stratax.value_and_grad`."
            )
        # Under a tape, one replica runs in Python anyway.
        if functions.functions_run_eagerly() and not storage.read_listeners():
            return self._in_python.run(fn, args, kwargs)
        try:
            return self._compiled_run(fn, args, kwargs)
        except regions.PythonOnlyError:
            return self._in_python.run_without_text(fn, args, kwargs)

    @functools.cached_property
    def _in_python(self) -> "strategies.InPython":
        return strategies.InPython(self, self._strategy, self._membership)

    @functools.cached_property
    def _combiner(self) -> "strategies.Combiner":
        # When it is asked for: training does not.
        return strategies.Combiner(self, self._membership)

    def reduce(self, op: ReduceOp, value: PyTree, axis: int | None) -> Any:
        return self._combiner.reduce(op, value, axis)

    def gather(self, value: PyTree, axis: int) -> Any:
        return self._combiner.gather(value, axis)

    def to_all(self, array: TensorLike) -> Any:
        # Alone, every device can be read by this process anyway.
        if not isinstance(self._membership, InStep):
            return array
        return jax.lax.with_sharding_constraint(array, NamedSharding(self._mesh, PartitionSpec()))

    def values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        count = self.num_replicas
        contexts = [
            ValueContext(replica_id_in_sync_group=i, num_replicas_in_sync=count)
            for i in range(count)[self._membership.share.of(count)]
        ]
        values = [value_fn(context) for context in contexts]
        treedefs = {jax.tree.structure(value) for value in values}
        if len(treedefs) > 1:
            raise errors.StructureError(
                f"value_fn must return the same structure for every replica. Received: {', '.join(map(str, treedefs))}."
            )
        if count == 1:
            return values[0]
        return jax.tree.map(lambda *parts: from_components(parts, self._mesh), *values)

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        averages_gradients: bool = False,
    ) -> Any:
        region = regions.current_region()
        if region is None:
            raise errors.StrategyError(
                "Replicas were run outside of a compiled program. Call `strategy.run`."
            )
        # Before the function is traced, whose first read of a variable needs its place.
        self._strategy.extended.place_program()
        replica_fn = fn if isinstance(fn, Function) else autograph.convert(fn)
        leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=is_per_replica)
        kinds = {leaf.solo for leaf in leaves if isinstance(leaf, PerReplica)}
        if len(kinds) > 1:
            raise errors.StructureError(
                "strategy.run got a batch that divides among the replicas together with the remainder of one that does "
                "not. Expected: per-replica arguments of one step. Take them from one distributed dataset, "
                "`Dataset.zip(...)` if there are several."
            )
        if self.num_replicas == 1 or True in kinds:
            return self._run_alone(replica_fn, leaves, treedef)
        context = ReplicaContext(self._strategy, self.num_replicas, averages_gradients=averages_gradients)
        return self._run_replicas(replica_fn, leaves, treedef, region, context)

    def _run_alone(self, fn: Callable[..., Any], leaves: list[Any], treedef: jax.tree_util.PyTreeDef) -> Any:
        """Run on one replica that stands for all: on its device, or, for a remainder, on all devices alike."""
        plain = [_only_component(leaf) if isinstance(leaf, PerReplica) else leaf for leaf in leaves]
        args, kwargs = jax.tree.unflatten(treedef, plain)
        noted = host.note_objects((args, kwargs))
        with enter_contexts(
            self._strategy,
            ReplicaContext(self._strategy, 1, stands_for=self.num_replicas),
        ):
            result = fn(*args, **kwargs)
        host.check_objects(noted, result)
        if self.num_replicas == 1:
            return result
        return jax.tree.map(
            lambda leaf: PerReplica(jnp.asarray(leaf), solo=True) if is_array(leaf) else leaf, result
        )

    def _run_replicas(
        self,
        fn: Callable[..., Any],
        leaves: list[Any],
        treedef: jax.tree_util.PyTreeDef,
        region: regions.Region,
        context: ReplicaContext,
    ) -> Any:
        split = [index for index, leaf in enumerate(leaves) if isinstance(leaf, PerReplica)]
        found: list[_Traced] = []
        # The variables that replicas read and devices have in parts.
        read: list[keras.Variable] = []
        divides = self._strategy.extended.placement.divides
        given = (
            strategies.GivenArrays(self._strategy, self._mesh, leaves, treedef, region) if divides else None
        )

        def body(
            components: list[Any], local: dict[int, Any], parts: list[Any] | None, own_parts: list[Any]
        ) -> Any:
            if given is None:
                return compute(components, local, parts, leaves)
            if parts is None:
                return given.find_types(compute, components, local, parts)
            return given.compute(functools.partial(compute, components, local, parts), own_parts)

        def compute(
            components: list[Any], local: dict[int, Any], parts: list[Any] | None, whole: list[Any]
        ) -> Any:
            # A copy for each trace: the function may be traced twice.
            own = list(whole)
            for index, component in zip(split, components, strict=True):
                is_of_steps = isinstance(leaves[index], StepsPerReplica)
                own[index] = StepsPerReplica(component) if is_of_steps else jnp.squeeze(component, 0)
            args, kwargs = jax.tree.unflatten(treedef, own)
            noted = host.note_objects((args, kwargs))
            # `shard_map` gives each replica its slice, with a leading dimension of 1.
            mine = {key: jnp.squeeze(value, 0) for key, value in local.items()}
            divided = None if parts is None else dict(zip(map(id, read), parts, strict=True))
            replica = ReplicaRegion(region, self._mesh, mine, divided)
            with replica, enter_contexts(self._strategy, context):
                result = fn(*args, **kwargs)
                host.check_objects(noted, result)
                outputs, structure = jax.tree.flatten(values_of_variables(result))
                # A leading dimension of 1 on each replica is the replica dimension of the whole.
                arrays = [jnp.asarray(leaf)[None] for leaf in outputs if is_array(leaf)]
                # Inside of the mapped function, where the replicas' values can be combined.
                written, merged = replica.merged()
                staying = replica.parts()
                kept = {id(variable): value[None] for variable, value in staying}
                places = (
                    [None] * len(outputs)
                    if given is None
                    else given.places_of(jax.tree.unflatten(structure, outputs))
                )
                kept_variables = [variable for variable, _ in staying]
                found.append(_Traced(replica, outputs, structure, written, kept_variables, places))
                return (arrays, kept), (merged, [update.arrays for update in replica.postponed])

        spread, same = PartitionSpec(REPLICA_AXES), PartitionSpec()
        components, specs = [], []
        for leaf in (leaves[index] for index in split):
            is_of_steps = isinstance(leaf, StepsPerReplica)
            components.append(leaf.stacked if is_of_steps else leaf.array)
            specs.append(PartitionSpec(None, REPLICA_AXES) if is_of_steps else spread)

        def map_over(parts_specs: Any, own_specs: Any, postponed: Any) -> Callable[..., Any]:
            in_specs = (specs, spread, parts_specs, own_specs)
            return map_over_replicas(body, self._mesh, in_specs, (spread, (same, postponed)))

        spreads = self._spread(region, map_over(None, None, same), components, found)
        # With those that the trace has found the function to have from around it.
        own_parts, own_specs = ([], []) if given is None else given.take()
        # As the trace has found, if there was one.
        updates: list[PostponedUpdate] = found[-1].replica.postponed if found else []
        read += found[-1].replica.divided.values() if found else []
        leaving: Any = [[spec or same for spec in update.specs] for update in updates] if found else same
        local = {key: region.get_current_value(spread) for key, spread in spreads.items()}
        parts = [region.get_current_value(variable) for variable in read]
        mapped = map_over([spec_on(variable, self._mesh) for variable in read], own_specs, leaving)
        # The mesh that JAX notes for the body would otherwise be that of everything behind it.
        (arrays, kept), (values, postponed) = storage.without_mesh(
            mapped(components, local, parts, own_parts)
        )
        # The last trace is the one that counts: `_spread` may have made one before.
        traced = found[-1]
        self._keep(region, traced.replica)
        # In the order of the trace: JAX sorts by the keys, which differ between processes, and so would collectives.
        for key in (id(variable) for variable in traced.kept):
            # As the replicas hold it; the loop merges it at its end.
            region.add_update((spreads[key], kept[key]))
        for variable, value in zip(traced.written, values, strict=True):
            region.add_update((variable, value))
        for update, update_arrays in zip(traced.replica.postponed, postponed, strict=True):
            # Outside of the replicas, once: the arrays are equal on all of them.
            update.make(update_arrays)
        results = iter(arrays)
        placed = [PerReplica(next(results)) if is_array(leaf) else leaf for leaf in traced.outputs]
        for value, place in zip(placed, traced.places, strict=True):
            if place is not None:
                note_place(value, place)
        return jax.tree.unflatten(traced.structure, placed)

    def _spread(
        self,
        region: regions.Region,
        mapped: Callable[..., Any],
        components: list[Any],
        found: list["_Traced"],
    ) -> dict[int, regions.Spread]:
        """Return the variables that are spread over the replicas: those with parts, and directly in a loop some others.

        In a loop these are the ones that replicas change differently, to be merged when it is over. Which ones these
        are only a trace can tell, so that in a loop a replica's function is traced twice; so it is where devices have
        parts of variables, which the mapped function has to be given.
        """
        # Looked at before the trace below, which reads variables itself.
        used = {*region.reads, *region.writes}
        for kept in region.find_known_parts() or ():
            if parts_on(kept.variable, self._mesh) is kept:
                region.adopt(kept)
        is_loop = isinstance(region, control.LoopRegion)
        spreads = {key: each for key, each in region.spreads.items() if is_loop or each.is_kept}
        if is_loop or self._strategy.extended.placement.divides:
            local = {key: region.get_current_value(each) for key, each in spreads.items()}
            # Only types: the trace leaves nothing in the program.
            jax.eval_shape(mapped, components, local, None, None)
            self._keep(region, found[-1].replica)
        if not is_loop:
            return spreads
        for variable in found[-1].replica.differing():
            key = id(variable)
            # What the loop itself reads or writes besides must be one value in every iteration.
            if key not in used and key not in region.spreads:
                region.adopt(ReplicaSpread(variable, self._mesh))
        return dict(region.spreads)

    def _keep(self, region: regions.Region, replica: ReplicaRegion) -> None:
        """Have the function be traced anew with what replicas keep of variables that it uses, unless it was.

        Raises:
            StrategyError: If replicas are to keep values of variables that the strategy keeps in one place.
        """
        # A trace for devices that are not there runs nothing: what it assigns is not kept.
        if self._is_moved:
            return
        found = list(replica.kept.values())
        if self._strategy.extended.placement.keeps_copies:
            found += [ensure_parts(variable, self._mesh) for variable in replica.to_keep.values()]
        else:
            self.refuse_own(replica)
        known = region.find_known_parts()
        missing = [each for each in found if all(each is not other for other in known or ())]
        if missing and known is None:
            raise errors.StrategyError(
                "Replicas keep their own values of a variable, and strategy.run was called in a function that is "
                "differentiated outside of a compiled function. Expected: stratax.function around value_and_grad. "
                f"Received: values of {shown(missing[0].path)}. Compile the step, or give the variable an aggregation."
            )
        if missing:
            raise regions.TraceAgainError(missing)

    def refuse_own(self, replica: ReplicaRegion) -> None:
        """Raise if replicas assign what would have to be each one's own, where variables are kept in one place."""
        for variable in replica.to_keep.values():
            if variable.aggregation == "none" and self.num_replicas > 1:
                raise errors.StrategyError(
                    f"Replicas assign a variable without an aggregation, of which {type(self._strategy).__name__} "
                    "has one for all of them. Expected: an aggregation ('sum', 'mean' or 'only_first_replica'), or an "
                    "assignment in get_replica_context().merge_call(merge_fn). Received: a value of "
                    f"{shown(variable.path)} for each replica. A MirroredStrategy keeps one for each."
                )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Traced:
    """What the trace of a replica's function left behind."""

    replica: ReplicaRegion
    outputs: list[Any]
    structure: Any
    written: list[keras.Variable]
    kept: list[keras.Variable]
    # Where the sums of the outputs are to lie; None for wherever they are.
    places: Sequence[NamedSharding | None]


def _only_component(value: PerReplica) -> Any:
    """Return the component of a value that has one."""
    return value.array if value.solo else jnp.squeeze(value.array, 0)


def values_of_variables(result: object) -> Any:
    return jax.tree.map(lambda leaf: leaf.value if isinstance(leaf, keras.Variable) else leaf, result)


def is_array(leaf: object) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic, bool, int, float, complex))
