"""What a strategy is composed of (distribute layer)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from stratax.core import regions
from stratax.distribute.collectives import CrossDeviceOps
from stratax.distribute.input import OnMesh
from stratax.distribute.strategies._execution import Execution
from stratax.distribute.strategies._membership import Alone, Membership
from stratax.distribute.strategies._mesh_execution import MeshExecution
from stratax.distribute.strategies._placement import OnDevices, Placement, copies_on
from stratax.distribute.strategies._strategy_input import Input, InputOfReplicas

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy


class StrategyExtended:
    """The four parts of a strategy, each of which varies by itself.

    Stands where `tf.distribute.StrategyExtended` does. What a part can do besides is asked with `isinstance` of a
    capability: `InStep` of a membership, `UpdatesOnce` of a placement, `OverMesh` of an execution.

    Args:
        placement: Where variables live.
        membership: Who takes part.
        execution: How functions are run.
        input: How datasets are divided.
    """

    def __init__(
        self, *, placement: Placement, membership: Membership, execution: Execution, input: Input
    ) -> None:
        self._placement = placement
        self._membership = membership
        self._execution = execution
        self._input = input

    @property
    def placement(self) -> Placement:
        """The part that says where variables live."""
        return self._placement

    @property
    def membership(self) -> Membership:
        """The part that says who takes part."""
        return self._membership

    @property
    def execution(self) -> Execution:
        """The part that says how functions are run."""
        return self._execution

    @property
    def input(self) -> Input:
        """The part that says how datasets are divided."""
        return self._input

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function once per replica as a part of the program that is being traced.

        Args:
            fn: The function of one replica.
            args: Its positional arguments; of every `PerReplica` in them it gets the replica's component.
            kwargs: Its keyword arguments, likewise.
        """
        return self._execution.call_for_each_replica(fn, args, kwargs or {})

    def place_program(self) -> None:
        """Have the program that is being traced, if there is one, find its variables where the strategy keeps them."""
        region = regions.current_region()
        # The whole program is placed, whichever loop or condition of it is being traced.
        while region is not None and not isinstance(region, regions.ProgramRegion):
            region = region.parent
        if region is not None:
            self._placement.prepare(region)


def on_devices(
    strategy: "Strategy",
    devices: Sequence[jax.Device],
    cross_device_ops: CrossDeviceOps | None = None,
    *,
    placement: Placement | None = None,
    membership: Membership | None = None,
    input: Input | None = None,
) -> StrategyExtended:
    """Compose a strategy whose replicas are devices that compute in step.

    Args:
        strategy: The strategy.
        devices: The devices of the replicas, in order. At least one.
        cross_device_ops: How replicas' values are combined; None for XLA's own all-reduce.
        placement: Where variables live; None: a copy on every device.
        membership: Whose devices they are; None: all of them this process's.
        input: How datasets are divided; None: among the devices of this process.
    """
    members = membership or Alone()
    execution = MeshExecution(strategy, devices, members, cross_device_ops)
    return StrategyExtended(
        placement=placement or OnDevices(copies_on(devices)),
        membership=members,
        execution=execution,
        input=input or InputOfReplicas(strategy, OnMesh(execution.mesh)),
    )
