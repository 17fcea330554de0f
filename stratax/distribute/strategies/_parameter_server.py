"""`ParameterServerStrategy`: variables on servers, workers that wait for nobody (distribute layer)."""

from typing import Any

import keras

from stratax import errors
from stratax._shown import shown
from stratax.cluster import ClusterResolver, credentials
from stratax.core import regions, variable_store
from stratax.distribute import remote
from stratax.distribute.input import OnDefaultDevice
from stratax.distribute.replicas import entered, is_seed_state
from stratax.distribute.strategies._extended import StrategyExtended
from stratax.distribute.strategies._membership import Alone
from stratax.distribute.strategies._one_device import default_strategy
from stratax.distribute.strategies._placement import Placement, UpdatesOnce
from stratax.distribute.strategies._remote_execution import RemoteExecution
from stratax.distribute.strategies._strategy import Strategy
from stratax.distribute.strategies._strategy_input import InputOfReplicas
from stratax.servers import issue

# How long a server may take to answer, in seconds.
_ANSWER_SECONDS = 300.0


class OnServers(Placement, UpdatesOnce):
    """Variables that parameter servers keep, and update.

    Args:
        strategy: The strategy.
        store: The servers' values.
    """

    def __init__(self, strategy: Strategy, store: remote.ServerStore) -> None:
        self._strategy = strategy
        self.store = store

    def store_of(self, variable: keras.Variable) -> variable_store.VariableStore | None:
        # Each worker draws numbers of its own.
        return None if is_seed_state(variable) else self.store

    def place(self, variables: Any, values: Any) -> None:
        """Do nothing: what is not on the servers stays where it was made."""

    def prepare(self, region: regions.ProgramRegion) -> None:
        region.builder = self._build

    def _build(self, closed: Any, region: regions.ProgramRegion, outputs: Any, name: str) -> Any:
        with entered(self._strategy, None):
            return remote.build(self.store, closed, region, outputs, name)


class ParameterServerStrategy(Strategy):
    """Asynchronous training: variables live on parameter servers, and workers wait for nobody.

    Follows `tf.distribute.ParameterServerStrategy`. Each variable, or each of its shards, is kept by one server, which
    also keeps what its optimizer needs beside it and applies updates itself. A step pulls the variables that it reads,
    computes, and pushes its gradients; servers apply each of them exactly once, in the order in which they come.

    The same program may run in every task. In a parameter server and in a worker, making the strategy is all that it
    does: the task serves the chief until that has ended, and ends with code 0. The chief goes on; `fit`, and functions
    that a `ClusterCoordinator` schedules, have the workers compute.

    Args:
        cluster_resolver: Tells the addresses of the cluster's tasks: `TFConfigClusterResolver()`, for instance.
        variable_partitioner: Into how many shards a variable is divided: a `Partitioner`, or a function of shape and
            dtype like one. None: variables are not divided.

    Raises:
        BadTypeError: If `cluster_resolver` is none.
        ClusterError: If the cluster has no parameter servers.

    Attributes:
        coordinator: The `ClusterCoordinator` of the strategy, once there is one.
    """

    def __init__(self, cluster_resolver: ClusterResolver, variable_partitioner: Any = None) -> None:
        if not isinstance(cluster_resolver, ClusterResolver):
            raise errors.BadTypeError(
                "ParameterServerStrategy expects a cluster resolver, such as TFConfigClusterResolver(). Received: "
                f"cluster_resolver={shown(cluster_resolver)}."
            )
        cluster = cluster_resolver.cluster_spec()
        if "ps" not in cluster.jobs:
            raise errors.ClusterError(
                "ParameterServerStrategy needs parameter servers. Expected: a cluster with tasks of the job 'ps'. "
                f"Received: {shown(cluster.as_dict())}."
            )
        if cluster_resolver.task_type in ("ps", "worker"):
            # It does not return.
            remote.Server(cluster, cluster_resolver.task_type, cluster_resolver.task_id).join()
        self._cluster_resolver = cluster_resolver
        addresses = [cluster.task_address("ps", index) for index in cluster.task_indices("ps")]
        key = credentials(cluster).key
        servers = remote.Servers(addresses, issue(key), timeout=_ANSWER_SECONDS)
        self._servers = servers
        self.coordinator: Any = None
        layouts = remote.Layouts(len(addresses), variable_partitioner)
        super().__init__(
            StrategyExtended(
                placement=OnServers(self, remote.ServerStore(servers, layouts)),
                membership=Alone(),
                execution=RemoteExecution(self, has_workers="worker" in cluster.jobs),
                input=InputOfReplicas(self, OnDefaultDevice()),
            )
        )

    @property
    def cluster_resolver(self) -> ClusterResolver:
        return self._cluster_resolver

    def close(self) -> None:
        """End the connections to the parameter servers, which keep the variables; nothing can be read any more."""
        self._servers.close()

    def __reduce__(self) -> Any:
        """Stand on a worker for what a function that makes a dataset asks of it: one replica, one pipeline."""
        return default_strategy, ()
