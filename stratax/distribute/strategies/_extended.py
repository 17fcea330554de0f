"""What a strategy is composed of (distribute layer)."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import keras
from jax.sharding import NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.cluster import device_name
from stratax.core import regions, storage
from stratax.distribute.collectives import CrossDeviceOps
from stratax.distribute.input import OnMesh
from stratax.distribute.replicas import (
    REPLICA_AXES,
    PerReplica,
    ReduceOp,
    as_reduce_op,
    get_replica_context,
    get_strategy,
    in_cross_replica_context,
    in_replica,
    is_default,
    is_per_replica,
)
from stratax.distribute.strategies import _ownership, _updates
from stratax.distribute.strategies._execution import Execution
from stratax.distribute.strategies._membership import Alone, StrategyMembership
from stratax.distribute.strategies._mesh_execution import MeshExecution
from stratax.distribute.strategies._placement import OnDevices, Placement, UpdatesOnce, copies_on
from stratax.distribute.strategies._strategy_input import InputOfReplicas, StrategyInput

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy


class StrategyExtended:
    """The four parts of a strategy, each of which varies by itself, and what code of the cross-replica context calls.

    Stands where `tf.distribute.StrategyExtended` does; a program finds it at `strategy.extended`. What a part can do
    besides is asked with `isinstance` of a capability: `InStep` of a membership, `UpdatesOnce` of a placement,
    `OverMesh` of an execution.

    Args:
        placement: Where variables live.
        membership: Who takes part.
        execution: How functions are run.
        input: How datasets are divided.
    """

    def __init__(
        self,
        *,
        placement: Placement,
        membership: StrategyMembership,
        execution: Execution,
        input: StrategyInput,
    ) -> None:
        self._placement = placement
        self._membership = membership
        self._execution = execution
        self._input = input
        self._owner: Strategy | None = None

    def belong_to(self, strategy: "Strategy") -> None:
        """Say whose parts these are; called once, by the strategy."""
        self._owner = strategy

    @property
    def _strategy(self) -> "Strategy":
        if self._owner is None:
            raise errors.StrategyError(
                "These parts belong to no strategy yet. Expected: `strategy.extended` of a strategy. "
                f"Received: {shown(self)}."
            )
        return self._owner

    @property
    def placement(self) -> Placement:
        """The part that says where variables live."""
        return self._placement

    @property
    def membership(self) -> StrategyMembership:
        """The part that says who takes part."""
        return self._membership

    @property
    def execution(self) -> Execution:
        """The part that says how functions are run."""
        return self._execution

    @property
    def input(self) -> StrategyInput:
        """The part that says how datasets are divided."""
        return self._input

    # What TensorFlow's programs call, with the strategy that `merge_call` passes them.

    def reduce_to(
        self, reduce_op: ReduceOp | str, value: object, destinations: object, options: object = None
    ) -> Any:
        """Combine the replicas' values into one and bring it somewhere, as `tf.distribute.StrategyExtended.reduce_to`.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or its name.
            value: A `PerReplica`, a structure of them, or `IndexedSlices` of them, whose rows are joined.
            destinations: Where to: a variable (its devices; it is not changed), a `PerReplica` (all replicas'), an
                array, or the name of a device. In a compiled function the program decides.
            options: Accepted for TensorFlow's signature; the strategy's cross-device operations decide.

        Returns:
            The value: an array, not a value for each device as TensorFlow's.

        Raises:
            BadArgumentError: If `reduce_op` is unknown, or a sum of values that are not per replica is asked for.
            BadTypeError: If `destinations` has no devices.
            StrategyError: If called in a replica, outside of `merge_call`.

        Example:
            >>> import stratax as sx
            >>> strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
            >>> ids = strategy.run(lambda: sx.distribute.get_replica_context().replica_id_in_sync_group + 1)
            >>> int(strategy.extended.reduce_to("sum", ids, destinations="/cpu:0"))
            3
        """
        if in_replica() and not in_cross_replica_context():
            raise errors.StrategyError(
                "strategy.extended.reduce_to was called inside a replica. Expected: outside of the function that "
                "strategy.run calls, or in the function of get_replica_context().merge_call(merge_fn). Inside, use "
                "stratax.distribute.get_replica_context().all_reduce."
            )
        op = as_reduce_op(reduce_op)
        sharding = _updates.sharding_of(destinations, self._storage_of(destinations))
        return _updates.put(self._strategy.reduce(op, value, axis=None), sharding)

    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[Any], options: object = None
    ) -> list[Any]:
        """Combine several values, each as :meth:`reduce_to`.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or its name.
            value_destination_pairs: Pairs of a value and its destinations.
            options: Accepted for TensorFlow's signature.

        Returns:
            The values, in the order of the pairs.
        """
        return [self.reduce_to(reduce_op, value, to, options) for value, to in value_destination_pairs]

    def update(
        self,
        var: keras.Variable,
        fn: Callable[..., Any],
        args: object = (),
        kwargs: dict[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(var, *args, **kwargs)` where the variable is, as `tf.distribute.StrategyExtended.update`.

        A variable is one for all replicas, so that `fn` is called once; what it assigns is not aggregated. Called in a
        replica, it is called in `merge_call`.

        Args:
            var: The variable.
            fn: The update, such as ``lambda v, g: v.assign_sub(g)``.
            args: Its further arguments, a tuple or list; of a `PerReplica`, which is to be equal on all replicas (a sum
                that `all_reduce` made), it gets the first component.
            kwargs: Its keyword arguments, likewise.
            group: False: a tuple stands in the place of each array of the result, an element for each copy that the
                variable has in this process.

        Returns:
            What `fn` returns, with values in the place of variables.

        Raises:
            BadTypeError: If `var` is no variable, `fn` is not callable, or `args` is no tuple or list.
            StrategyError: If another strategy is in force.

        Example:
            >>> import stratax as sx
            >>> strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
            >>> with strategy.scope():
            ...     v = sx.Variable(5.0)
            >>> float(strategy.extended.update(v, lambda v, x: v.assign_add(x), args=(2.0,)))
            7.0
        """
        kwargs = {} if kwargs is None else kwargs
        if not (isinstance(var, keras.Variable) and callable(fn) and isinstance(args, tuple | list)):
            raise errors.BadTypeError(
                "strategy.extended.update expects a variable, a function that updates it, and the function's further "
                f"arguments as a tuple or list. Received: var={shown(var)}, fn={shown(fn)}, args={shown(args)}."
            )
        replica = get_replica_context()
        if replica is not None and not is_default(replica.strategy):
            return replica.merge_call(
                lambda _, *merged, **by_name: self.update(var, fn, merged, by_name, group),
                tuple(args),
                kwargs,
            )
        strategy = self._strategy
        # In `merge_call` the strategy is in force, and its scope can't be entered.
        is_in_force = in_cross_replica_context() and get_strategy() is strategy
        with contextlib.nullcontext() if is_in_force else strategy.scope():
            self.place_program()
            own_args, own_kwargs = _updates.arguments(var, (tuple(args), kwargs))
            result = _updates.values_of_variables(fn(var, *own_args, **own_kwargs))
            if self._storage_of(var) is not None and regions.current_region() is None:
                # An assignment outside of programs leaves a value where it was computed.
                self._placement.place([var], [var.value])
        return result if group else _updates.ungroup(result, len(self.parameter_devices) or 1)

    def value_container(self, value: object) -> Any:
        """Return what a value is a component of: of a variable itself, which is one for all replicas."""
        return value

    def variable_created_in_scope(self, v: keras.Variable) -> bool:
        """Return whether a variable was created in the scope of this strategy.

        Args:
            v: The variable.

        Raises:
            BadTypeError: If it is none.
        """
        if not isinstance(v, keras.Variable):
            raise errors.BadTypeError(
                f"variable_created_in_scope expects a variable. Received: v={shown(v)}."
            )
        strategy = self._strategy
        return _ownership.owner(v) is (None if is_default(strategy) else strategy)

    def colocate_vars_with(
        self, colocate_with_variable: keras.Variable
    ) -> contextlib.AbstractContextManager[None]:
        """Return a context whose variables lie where another one does: as all variables of a strategy.

        Args:
            colocate_with_variable: A variable that was created in the strategy's scope.

        Raises:
            BadArgumentError: If it was created elsewhere.
            StrategyError: Outside of the strategy's scope.
        """
        strategy = self._strategy
        if not (is_default(strategy) or (in_cross_replica_context() and get_strategy() is strategy)):
            raise errors.StrategyError(
                "colocate_vars_with was called outside of the scope of its strategy. Expected: in a block "
                f"`with strategy.scope():` of {shown(strategy)}."
            )
        if not self.variable_created_in_scope(colocate_with_variable):
            raise errors.BadArgumentError(
                f"colocate_vars_with expects a variable that was created in the scope of {shown(strategy)}. "
                f"Received: colocate_with_variable={shown(colocate_with_variable)}."
            )
        return contextlib.nullcontext()

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The names of the devices of this process that replicas run on."""
        devices = self._execution.devices
        return tuple(device_name(device) for device in devices[self._membership.share.of(len(devices))])

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The names of the devices of this process that variables are kept on."""
        if not isinstance(self._placement, OnDevices) or not isinstance(self._placement, UpdatesOnce):
            return self.worker_devices
        return tuple(device_name(device) for device in self._placement.storage.device_set)

    def _storage_of(self, variable: object) -> jax.sharding.Sharding | None:
        """Return where a variable of this strategy is between programs, if that is devices; None for anything else."""
        is_own = isinstance(variable, keras.Variable) and _ownership.owner(variable) is self._owner
        return self._placement.storage if is_own and isinstance(self._placement, OnDevices) else None

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether all batches must have one shape: never, since each shape has a program."""
        return False

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function once per replica as a part of the program that is being traced; outside of one, as `run`.

        Args:
            fn: The function of one replica.
            args: Its positional arguments; of every `PerReplica` in them it gets the replica's component.
            kwargs: Its keyword arguments, likewise.
        """
        if regions.current_region() is None:
            return self._strategy.run(fn, args, kwargs)
        return self._execution.call_for_each_replica(fn, args, kwargs or {})

    def place_program(self) -> None:
        """Have the program that is being traced, if there is one, find its variables where the strategy keeps them."""
        region = regions.current_region()
        # The whole program is placed, whichever loop or condition of it is being traced.
        while region is not None and not isinstance(region, regions.ProgramRegion):
            region = region.parent
        if region is not None:
            self._placement.prepare(region)
            region.move = self.move()

    def move(self) -> storage.Move | None:
        """Return what has replicas be other devices, for programs that are not run there; None if none can."""
        execution, placement = self._execution, self._placement
        # Values that are kept elsewhere, on another device or on servers, are not where the replicas are.
        if not isinstance(execution, MeshExecution) or not isinstance(placement, OnDevices):
            return None
        if placement.storage != placement.sharding:
            return None
        return _MoveOfReplicas(execution, placement)


class _MoveOfReplicas(storage.Move):
    """Has replicas be other devices.

    Args:
        execution: How functions of replicas are run.
        placement: Where their variables are.
    """

    def __init__(self, execution: MeshExecution, placement: OnDevices) -> None:
        self._execution = execution
        self._placement = placement

    @contextlib.contextmanager
    def to(self, devices: Sequence[jax.Device]) -> Iterator[NamedSharding]:
        """Have them be other devices within a block."""
        with self._execution.on_other_devices(devices):
            where = NamedSharding(self._execution.mesh, PartitionSpec())
            with self._placement.elsewhere(where):
                yield where

    def element(self, structure: PyTree) -> PyTree:
        """Return the types of an element, of which each replica has its part, or all of them have the whole."""
        alike = NamedSharding(self._execution.mesh, PartitionSpec())
        spread = NamedSharding(alike.mesh, PartitionSpec(REPLICA_AXES))

        def of(leaf: object) -> Any:
            is_divided = isinstance(leaf, PerReplica) and not leaf.solo
            return jax.tree.map(
                lambda each: jax.ShapeDtypeStruct(
                    each.shape, each.dtype, sharding=spread if is_divided else alike
                ),
                leaf,
            )

        return jax.tree.map(of, structure, is_leaf=is_per_replica)


def on_devices(
    strategy: "Strategy",
    devices: Sequence[jax.Device],
    cross_device_ops: CrossDeviceOps | None = None,
    *,
    placement: Placement | None = None,
    membership: StrategyMembership | None = None,
    input: StrategyInput | None = None,
    groups: int | None = None,
    model: int = 1,
) -> StrategyExtended:
    """Compose a strategy whose replicas are devices that compute in step.

    Args:
        strategy: The strategy.
        devices: The devices of the replicas, in order. At least one.
        cross_device_ops: How replicas' values are combined; None for XLA's own all-reduce.
        placement: Where variables live; None: a copy on every device.
        membership: Whose devices they are; None: all of them this process's.
        input: How datasets are divided; None: among the devices of this process.
        groups: Into how many groups the replicas are divided that have parts of variables; None: each is one.
        model: How many devices share a replica.
    """
    members = membership or Alone()
    execution = MeshExecution(strategy, devices, members, cross_device_ops, groups=groups, model=model)
    return StrategyExtended(
        placement=placement or OnDevices(copies_on(devices)),
        membership=members,
        execution=execution,
        input=input or InputOfReplicas(strategy, OnMesh(execution.mesh)),
    )
