"""How a strategy feeds its replicas: the fourth of the four parts that a strategy composes (distribute layer)."""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stratax.data.foreign import adopt
from stratax.distribute.input import (
    DistributedDataset,
    GlobalBatches,
    InputContext,
    Placing,
    ReplicaBatches,
    Source,
)

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy


class StrategyInput(abc.ABC):
    """Divides datasets among the replicas."""

    @property
    @abc.abstractmethod
    def placing(self) -> Placing:
        """What puts the steps of a `DistributedDataset` where the replicas compute."""

    @abc.abstractmethod
    def distribute(self, dataset: object, options: object = None) -> Any:
        """Return an iterable of the steps of a dataset of global batches.

        Args:
            dataset: A `stratax.data.Dataset`, or any iterable of structures of arrays.
            options: A `stratax.distribute.InputOptions`, or None.
        """

    @abc.abstractmethod
    def distribute_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: object = None
    ) -> Any:
        """Return an iterable of the steps of a dataset of per-replica batches.

        Args:
            dataset_fn: Makes the dataset.
            options: A `stratax.distribute.InputOptions`, or None.
        """


class InputOfReplicas(StrategyInput):
    """Input of replicas that compute in this process.

    Args:
        strategy: The strategy.
        placing: Puts steps where they compute.
    """

    def __init__(self, strategy: "Strategy", placing: Placing) -> None:
        self._strategy = strategy
        self._placing = placing

    @property
    def placing(self) -> Placing:
        return self._placing

    @property
    def num_replicas(self) -> int:
        """How many replicas there are, in all processes."""
        return self._strategy.extended.execution.num_replicas

    def distribute(self, dataset: Any, options: Any = None) -> DistributedDataset:
        return DistributedDataset(self._strategy, self.source_of_batches(dataset), options)

    def distribute_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> DistributedDataset:
        count, index = self._strategy.extended.membership.pipelines
        context = InputContext(
            num_input_pipelines=count,
            input_pipeline_id=index,
            num_replicas_in_sync=self.num_replicas,
        )
        source = self.source_of_replica_batches(adopt(dataset_fn(context)))
        return DistributedDataset(self._strategy, source, options)

    def source_of_batches(self, dataset: object) -> Source:
        """Return the steps of a dataset of global batches."""
        return GlobalBatches(dataset, self.num_replicas)

    def source_of_replica_batches(self, dataset: object) -> Source:
        """Return the steps of a dataset of per-replica batches."""
        return ReplicaBatches(dataset, self.num_replicas)
