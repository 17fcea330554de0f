"""How a strategy runs functions: the third of the four parts that a strategy composes (distribute layer)."""

import abc
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh

from stratax.base.typing import PyTree, TensorLike
from stratax.distribute.collectives import CrossDeviceOps
from stratax.distribute.replicas import ReduceOp


class Execution(abc.ABC):
    """Runs functions once per replica, and combines what the replicas return.

    Arguments have been checked by `Strategy` before its methods are called.
    """

    @property
    @abc.abstractmethod
    def num_replicas(self) -> int:
        """How many replicas compute together."""

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """The replicas' devices, in order; none where this process knows of none."""
        return ()

    @abc.abstractmethod
    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function once per replica, outside of compiled functions.

        Args:
            fn: The function of one replica.
            args: Its positional arguments; of every `PerReplica` in them it gets the replica's component.
            kwargs: Its keyword arguments, likewise.
        """

    @abc.abstractmethod
    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        averages_gradients: bool = False,
    ) -> Any:
        """Do what :meth:`run` does as a part of the program that is being traced.

        Args:
            fn: The function of one replica.
            args: Its positional arguments.
            kwargs: Its keyword arguments.
            averages_gradients: Whether gradients that it applies are averaged over the replicas and not summed: for
                code that knows nothing of replicas, such as a model's `train_step`. Its losses are means over the
                replica's examples, and what is written for one device gives its result.
        """

    @abc.abstractmethod
    def reduce(self, op: ReduceOp, value: PyTree, axis: int | None) -> Any:
        """Combine the replicas' values into one. See `Strategy.reduce`."""

    @abc.abstractmethod
    def gather(self, value: PyTree, axis: int) -> Any:
        """Concatenate the replicas' values along a dimension. See `Strategy.gather`."""

    @abc.abstractmethod
    def values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """Make a value of what a function returns for each replica.

        See `Strategy.experimental_distribute_values_from_function`.
        """

    @abc.abstractmethod
    def to_all(self, array: TensorLike) -> Any:
        """Have a combined value that is being traced on every device, where other processes hold a part of it."""


class OverMesh(Execution):
    """An execution whose replicas are the devices of one mesh and run as one program."""

    @property
    @abc.abstractmethod
    def mesh(self) -> Mesh:
        """The mesh of the replicas, see `Strategy.mesh`."""

    @property
    @abc.abstractmethod
    def cross_device_ops(self) -> CrossDeviceOps:
        """How replicas' values are combined inside of their program."""


class ScheduledSteps(abc.ABC):
    """Training steps that workers run, several at once. A dispatch returns before its steps have been run."""

    @abc.abstractmethod
    def __call__(self, steps: int, element: object) -> Any:
        """Schedule so many steps."""

    @abc.abstractmethod
    def settle(self) -> None:
        """Wait until all steps have been run."""

    @abc.abstractmethod
    def cancel(self) -> None:
        """Give up the steps that have been scheduled: training has failed, or was interrupted."""


class StepByStep(abc.ABC):
    """Capability of an execution: a program runs one step, and others see its updates before the next one."""

    @property
    @abc.abstractmethod
    def has_workers(self) -> bool:
        """Whether this process coordinates workers, which run the steps of `fit` and what it schedules."""

    @abc.abstractmethod
    def program_of(self, steps: object) -> ScheduledSteps:
        """Return what has workers run training steps.

        Args:
            steps: The program of the steps, of :mod:`stratax.engine`.
        """

    @abc.abstractmethod
    def input_of(self, creator: object, class_weight: object) -> Any:
        """Return the input of `fit` of which workers read their batches for themselves.

        Args:
            creator: The `DatasetCreator` that makes their datasets.
            class_weight: None, as the batches are not here.

        Raises:
            BadArgumentError: If there is a class weight.
        """


def workers_of(execution: Execution) -> StepByStep | None:
    """Return an execution whose training steps are run by the workers of a cluster that this process coordinates."""
    return execution if isinstance(execution, StepByStep) and execution.has_workers else None
