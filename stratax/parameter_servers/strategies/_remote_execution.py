"""How a function runs where variables are on servers: one replica, which waits for nobody (distribute layer)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base import providers
from stratax.base.typing import PyTree, TensorLike
from stratax.core import Function, autograph, regions
from stratax.distribute.input import ValueContext
from stratax.distribute.replicas import ReduceOp, ReplicaContext, enter_contexts
from stratax.distribute.strategies import Execution, ScheduledSteps, StepByStep
from stratax.parameter_servers.remote import PushingRegion

if TYPE_CHECKING:
    from stratax.distribute.strategies import Strategy


class RemoteExecution(Execution, StepByStep):
    """Runs a function in this process on the values that variables have on the servers, and pushes what changes them.

    Args:
        strategy: The strategy.
        has_workers: Whether this process coordinates workers.
    """

    def __init__(self, strategy: "Strategy", *, has_workers: bool) -> None:
        self._strategy = strategy
        self._has_workers = has_workers
        self._compiled = Function(self.call_for_each_replica, autograph=False, calls_argument=True)

    @property
    def has_workers(self) -> bool:
        return self._has_workers

    def program_of(self, steps: object) -> ScheduledSteps:
        program: ScheduledSteps = _for_fit().ScheduledProgram(self._strategy, steps)
        return program

    def input_of(self, creator: object, class_weight: object) -> Any:
        return _for_fit().WorkerInput(self._strategy, creator, class_weight)

    @property
    def num_replicas(self) -> int:
        return 1

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Around the trace as well: what a step creates gets its first value at the end of it.
        with enter_contexts(self._strategy, None):
            return self._compiled(fn, args, kwargs)

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        averages_gradients: bool = False,
    ) -> Any:
        replica_fn = fn if isinstance(fn, Function) else autograph.convert(fn)
        context = ReplicaContext(self._strategy, 1, averages_gradients=averages_gradients)
        # A step that a coordinator has scheduled pushes as a whole.
        if isinstance(regions.current_region(), PushingRegion):
            with enter_contexts(self._strategy, context):
                return jax.tree.map(_value_of, replica_fn(*args, **kwargs))
        return self.pushing(replica_fn, args, kwargs, context)

    def pushing(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context: ReplicaContext | None,
    ) -> Any:
        """Call a function as a part of the program that is being traced, and have it push what it changes.

        Args:
            fn: The function.
            args: Its positional arguments.
            kwargs: Its keyword arguments.
            context: The replica that it is called in; None for none.
        """
        region = regions.current_region()
        if not isinstance(region, regions.ProgramRegion):
            raise errors.StrategyError(
                "A step of a ParameterServerStrategy was run inside a loop or condition of a compiled function. "
                "Expected: one step for each call, so that it sees what other workers have done, and they its "
                "gradients. Call strategy.run outside of the loop, or have the loop in Python."
            )
        self._strategy.extended.place_program()
        with PushingRegion(region) as pushing, enter_contexts(self._strategy, context):
            result = jax.tree.map(_value_of, fn(*args, **kwargs))
        for variable in pushing.writes.values():
            region.take_over(variable, pushing.final_value(variable), pushing)
        region.handed_on += [regions.HandedOn(update, update.arrays) for update in pushing.postponed]
        return result

    def reduce(self, op: ReduceOp, value: PyTree, axis: int | None) -> Any:
        if axis is None:
            return value
        combine = jnp.sum if op is ReduceOp.SUM else jnp.mean
        return jax.tree.map(lambda leaf: combine(leaf, axis), value)

    def gather(self, value: PyTree, axis: int) -> Any:
        return value

    def values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        return value_fn(ValueContext())

    def to_all(self, array: TensorLike) -> Any:
        return array


def _for_fit() -> Any:
    (module,) = providers.providers("fit on workers")
    return module


def _value_of(leaf: object) -> Any:
    return leaf.value if isinstance(leaf, keras.Variable) else leaf
