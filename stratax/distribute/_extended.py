"""What the library itself needs of a strategy, beside what programs call (distribute layer)."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from stratax import errors
from stratax._shown import shown
from stratax.core import _autograph, _body, _capture, _function, _mesh_types
from stratax.distribute import _contexts, _loop, _readers, _replica_region
from stratax.distribute._values import REPLICA_AXIS, PerReplica, is_per_replica

if TYPE_CHECKING:
    from stratax.distribute._strategy import Strategy


class StrategyExtended:
    """What varies between strategies: where variables are, whose the replicas are, what other workers are told.

    Stands where `tf.distribute.StrategyExtended` does. Replicas of all kinds of strategies are run alike, here.

    Args:
        strategy: The strategy, which knows its devices already.
    """

    def __init__(self, strategy: "Strategy") -> None:
        self._strategy = strategy

    # Variables.

    @property
    def variable_placement(self) -> jax.sharding.Sharding:
        """Where variables are while replicas compute: on every replica's device."""
        return NamedSharding(self._strategy.mesh, PartitionSpec())

    @property
    def variable_storage(self) -> jax.sharding.Sharding:
        """Where variables are kept between steps."""
        return self.variable_placement

    @property
    def updates_once(self) -> bool:
        """Whether optimizers update variables in one place, after the replicas, and not on each replica's device."""
        return self.variable_storage != self.variable_placement

    def agreed(self, values: list[Any]) -> list[Any]:
        """The values that new variables begin with: where there are several workers, the chief's on each of them."""
        return values

    def gathered(self, value: bytes) -> list[bytes]:
        """The values of all workers, which call it at the same place; this process' alone where there are no others."""
        return [value]

    def place_program(self) -> None:
        """Has the program that is being traced keep its variables where this strategy does."""
        region = _capture.current_region()
        while region is not None and not isinstance(region, _capture.ProgramRegion):
            region = region.parent
        if region is None:
            return
        if region.placement is not None and region.placement != self.variable_placement:
            raise errors.StrategyError(
                "One compiled function runs two strategies on different devices. Expected: one strategy for each "
                f"function. Received: {shown(self._strategy)} after one that places variables as {region.placement}."
            )
        region.placement = self.variable_placement
        region.storage = self.variable_storage

    # Workers.

    @property
    def share(self) -> _readers.Share:
        """Which of the replicas are this process's: all of them, unless there are several workers."""
        return _readers.Share()

    def phase(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """Says what the program does in a block, to other workers if there are any.

        Args:
            name: ``"evaluating"`` or ``"saving"``.
        """
        return contextlib.nullcontext()

    def waiting(self, for_others: bool) -> contextlib.AbstractContextManager[Any]:
        """Says, in a block in which the program waits for input, who is to be waited for.

        Args:
            for_others: Whether it is other workers; else it is the source of the data.
        """
        return contextlib.nullcontext()

    def loop(self) -> _loop.Loop:
        """A loop of steps that begins now, in all workers if there are several."""
        return _loop.Loop()

    def specs_of_all(self, specs: list[Any]) -> list[Any]:
        """The shapes and dtypes of components on all replicas, for each value that is per replica.

        Args:
            specs: For each value those of this process's components; None where it is not per replica.
        """
        return specs

    def to_all(self, array: Any) -> Any:
        """Has a combined value on every device, where other processes hold a part of it."""
        if self.share.processes == 1:
            return array
        return jax.lax.with_sharding_constraint(array, self.variable_placement)

    # Input.

    def source_of_batches(self, dataset: Any) -> _readers.Source:
        """The steps of a dataset of global batches."""
        return _readers.GlobalBatches(dataset, len(self._strategy.devices))

    def source_of_replica_batches(self, dataset: Any) -> _readers.Source:
        """The steps of a dataset of per-replica batches."""
        return _readers.ReplicaBatches(dataset, len(self._strategy.devices))

    # Computing.

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        averages_gradients: bool = False,
    ) -> Any:
        """What `Strategy.run` does, as a part of the program that is being traced.

        Args:
            fn: The function of one replica.
            args: Its positional arguments; of every `PerReplica` in them it gets the replica's component.
            kwargs: Its keyword arguments, likewise.
            averages_gradients: Whether gradients that it applies are averaged over the replicas and not summed: for
                code that knows nothing of replicas, such as a model's `train_step`. Its losses are means over the
                replica's examples, and what is written for one device gives its result.
        """
        region = _capture.current_region()
        if region is None:
            raise errors.StrategyError(
                "Replicas were run outside of a compiled program. Call `strategy.run`."
            )
        self.place_program()
        replica_fn = fn if isinstance(fn, _function.Function) else _autograph.convert(fn)
        leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=is_per_replica)
        kinds = {leaf.solo for leaf in leaves if isinstance(leaf, PerReplica)}
        if len(kinds) > 1:
            raise errors.StructureError(
                "strategy.run got a batch that divides among the replicas together with the remainder of one that does "
                "not. Expected: per-replica arguments of one step. Take them from one distributed dataset, "
                "`Dataset.zip(...)` if there are several."
            )
        if len(self._strategy.devices) == 1 or True in kinds:
            return self._run_alone(replica_fn, leaves, treedef)
        context = _contexts.ReplicaContext(
            self._strategy, len(self._strategy.devices), averages_gradients=averages_gradients
        )
        return self._run_replicas(replica_fn, leaves, treedef, region, context)

    def _run_alone(self, fn: Callable[..., Any], leaves: list[Any], treedef: Any) -> Any:
        """One replica's meaning for everything: on its device, or, for a remainder, on all devices alike."""
        plain = [_only_component(leaf) if isinstance(leaf, PerReplica) else leaf for leaf in leaves]
        args, kwargs = jax.tree.unflatten(treedef, plain)
        with _contexts.entered(
            self._strategy,
            _contexts.ReplicaContext(self._strategy, 1, stands_for=len(self._strategy.devices)),
        ):
            result = fn(*args, **kwargs)
        if len(self._strategy.devices) == 1:
            return result
        return jax.tree.map(
            lambda leaf: PerReplica(jnp.asarray(leaf), solo=True) if _is_array(leaf) else leaf, result
        )

    def _run_replicas(
        self,
        fn: Callable[..., Any],
        leaves: list[Any],
        treedef: Any,
        region: _capture.Region,
        context: _contexts.ReplicaContext,
    ) -> Any:
        split = [index for index, leaf in enumerate(leaves) if isinstance(leaf, PerReplica)]
        found: list[_Traced] = []

        def body(components: list[Any], local: dict[int, Any]) -> Any:
            own = list(leaves)
            for index, component in zip(split, components, strict=True):
                own[index] = jnp.squeeze(component, 0)
            args, kwargs = jax.tree.unflatten(treedef, own)
            mine = {key: jnp.squeeze(value, 0) for key, value in local.items()}
            replica = _replica_region.ReplicaRegion(region, len(self._strategy.devices), mine)
            with replica, _contexts.entered(self._strategy, context):
                result = fn(*args, **kwargs)
                outputs, structure = jax.tree.flatten(_values_of_variables(result))
                arrays = [jnp.asarray(leaf)[None] for leaf in outputs if _is_array(leaf)]
                written, merged = replica.merged()
                kept = {key: replica.final_value(v)[None] for key, v in replica.writes.items() if key in mine}
                found.append(_Traced(replica, outputs, structure, written))
                return (arrays, kept), (merged, [update.arrays for update in replica.postponed])

        spread, same = PartitionSpec(REPLICA_AXIS), PartitionSpec()
        mapped = jax.shard_map(
            body,
            mesh=self._strategy.mesh,
            in_specs=(spread, spread),
            out_specs=(spread, same),
            check_vma=False,
        )
        components = [leaves[index].array for index in split]
        spreads = self._carried_spread(region, mapped, components, found)
        local = {key: region.get_current_value(spread) for key, spread in spreads.items()}
        (arrays, kept), (values, postponed) = _mesh_types.without_mesh(mapped(components, local))
        traced = found[-1]
        for key, value in kept.items():
            region.add_update((spreads[key], value))
        for variable, value in zip(traced.written, values, strict=True):
            region.add_update((variable, value))
        for update, update_arrays in zip(traced.replica.postponed, postponed, strict=True):
            update.make(update_arrays)
        results = iter(arrays)
        placed = [PerReplica(next(results)) if _is_array(leaf) else leaf for leaf in traced.outputs]
        return jax.tree.unflatten(traced.structure, placed)

    def _carried_spread(
        self,
        region: _capture.Region,
        mapped: Callable[..., Any],
        components: list[Any],
        found: list["_Traced"],
    ) -> dict[int, _capture.Spread]:
        """Directly in a loop: the variables that replicas change differently, to be merged when the loop is over.

        Which ones these are only a trace can tell, so that in a loop a replica's function is traced twice.
        """
        if not isinstance(region, _body.LoopRegion):
            return {}
        used = {*region.reads, *region.writes}
        jax.eval_shape(mapped, components, {})
        for variable in found[-1].replica.differing():
            key = id(variable)
            # What the loop itself reads or writes besides must be one value in every iteration.
            if key not in used and key not in region.spreads:
                region.adopt(_replica_region.ReplicaSpread(variable, self._strategy.mesh))
        return dict(region.spreads)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Traced:
    """What the trace of a replica's function left behind."""

    replica: _replica_region.ReplicaRegion
    outputs: list[Any]
    structure: Any
    written: list[keras.Variable]


def _only_component(value: PerReplica) -> Any:
    """The component of a value that has one."""
    return value.array if value.solo else jnp.squeeze(value.array, 0)


def _values_of_variables(result: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.value if isinstance(leaf, keras.Variable) else leaf, result)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic, bool, int, float, complex))
