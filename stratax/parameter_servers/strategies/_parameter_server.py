"""`ParameterServerStrategy`: variables on servers, workers that wait for nobody (distribute layer)."""

import functools
import weakref
from collections.abc import Callable
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import (
    ClusterResolver,
    ClusterSpec,
    TFConfigClusterResolver,
    check_connectable,
    credentials,
    exits,
)
from stratax.core import regions, storage
from stratax.distribute.input import OnDefaultDevice
from stratax.distribute.replicas import enter_contexts, is_seed_state
from stratax.distribute.strategies import (
    Alone,
    CentralStorageStrategy,
    InputOfReplicas,
    OneOfMany,
    Placement,
    Strategy,
    StrategyExtended,
    StrategyMembership,
    UpdatesOnce,
    default_strategy,
)
from stratax.parameter_servers import remote
from stratax.parameter_servers.servers import issue
from stratax.parameter_servers.strategies._remote_execution import RemoteExecution

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

    def store_of(self, variable: keras.Variable) -> storage.VariableStore | None:
        # Each worker draws numbers of its own.
        return None if is_seed_state(variable) else self.store

    def make_beside(self, variable: keras.Variable, make: Callable[[], Any]) -> Any:
        return remote.make_beside(variable, make)

    def place(self, variables: Any, values: Any) -> None:
        """Do nothing: what is not on the servers stays where it was made."""

    def prepare(self, region: regions.ProgramRegion) -> None:
        region.builder = self._build

    def _build(self, closed: object, region: regions.ProgramRegion, outputs: object, name: str) -> Any:
        with enter_contexts(self._strategy, None):
            return remote.build(self.store, closed, region, outputs, name)


class _StrategyOnServers(Strategy):
    """What strategies have in common whose variables are on parameter servers.

    Args:
        resolver: Tells the addresses of the cluster's tasks.
        partitioner: Into how many shards a variable is divided, as for `ParameterServerStrategy`.
        membership: Who takes part.
        has_workers: Whether this process coordinates workers.
        max_staleness: As for `ParameterServerStrategy`.
    """

    def __init__(
        self,
        resolver: ClusterResolver,
        partitioner: object,
        membership: StrategyMembership,
        *,
        has_workers: bool,
        max_staleness: int | None,
    ) -> None:
        _check_staleness(max_staleness)
        cluster = resolver.cluster_spec()
        self._cluster_resolver = resolver
        addresses = [cluster.task_address("ps", index) for index in cluster.task_indices("ps")]
        self._certificates = issue(credentials(cluster).key)
        self._servers = remote.Servers(addresses, self._certificates, timeout=_ANSWER_SECONDS)
        layouts = remote.Layouts(len(addresses), partitioner)
        super().__init__(
            StrategyExtended(
                placement=OnServers(self, remote.ServerStore(self._servers, layouts, max_staleness)),
                membership=membership,
                execution=RemoteExecution(self, has_workers=has_workers),
                input=InputOfReplicas(self, OnDefaultDevice()),
            )
        )

    @property
    def cluster_resolver(self) -> ClusterResolver:
        return self._cluster_resolver

    @property
    def servers(self) -> remote.Servers:
        """The connections of this process to the parameter servers."""
        return self._servers

    def staleness(self) -> dict[int, int]:
        """Return how many steps had how many others change variables between their pull and their push, until now.

        ``{0: 512, 1: 470, 2: 3}`` says that 512 gradients were computed with what they have changed, and that 3 came
        behind two others.
        """
        answer = self._servers.ask({0: remote.Request({"op": "staleness"})})[0]
        return {int(staleness): int(count) for staleness, count in answer.header["staleness"]}

    def close(self) -> None:
        """End the connections to the parameter servers, which keep the variables; nothing can be read any more."""
        self._servers.close()

    def __reduce__(self) -> Any:
        """Stand on a worker for what a function that makes a dataset asks of it: one replica, one pipeline."""
        return default_strategy, ()


class ParameterServerStrategy(_StrategyOnServers):
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
        max_staleness: How many other steps may change variables between a step's pull and its push: a step begins when
            that is sure. 0 has one step run at a time. None, as in TensorFlow: any number.

    Raises:
        BadTypeError: If `cluster_resolver` is none, or `max_staleness` no number.
        BadArgumentError: If `max_staleness` is negative.
        ClusterError: If the cluster has no parameter servers, or this task is an evaluator.

    Attributes:
        coordinator: The `ClusterCoordinator` of the strategy, once there is one.
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver,
        variable_partitioner: object = None,
        *,
        max_staleness: int | None = None,
    ) -> None:
        _check_resolver("ParameterServerStrategy", cluster_resolver)
        cluster = cluster_resolver.cluster_spec()
        _check_has_servers("ParameterServerStrategy", cluster)
        if cluster_resolver.task_type in ("ps", "worker"):
            # It does not return.
            remote.Server(cluster, cluster_resolver.task_type, cluster_resolver.task_id).join()
        if cluster_resolver.task_type == "evaluator":
            raise errors.ClusterError(
                "An evaluator takes no part in training: it would change the variables, and end the job with its own "
                "program. Expected: the evaluator's part of the program comes before ParameterServerStrategy, for "
                "instance a tf.keras.utils.SidecarEvaluator that reads the chief's checkpoints. Received: "
                "task_type='evaluator'."
            )
        self.coordinator: Any = None
        super().__init__(
            cluster_resolver,
            variable_partitioner,
            Alone(),
            has_workers="worker" in cluster.jobs,
            max_staleness=max_staleness,
        )
        # A process with open connections would need many seconds to end, besides.
        remote.prepare_end(len(_tasks(cluster_resolver, "worker")) + len(_tasks(cluster_resolver, "ps")))
        exits.at_end(functools.partial(_end, weakref.ref(self)))

    def end(self, error: BaseException | None = None) -> None:
        """Tell all workers and parameter servers that the job is over: those that wait in `Server.join` end.

        The chief's program does at its end.

        Args:
            error: What it has failed with, which they name then.
        """
        workers, servers = _tasks(self._cluster_resolver, "worker"), _tasks(self._cluster_resolver, "ps")
        if self.coordinator is not None:
            self.coordinator.close()
        awaited = [name for name, _ in workers] if self.coordinator is None else self.coordinator.unseen
        awaited += [servers[number][0] for number in self._servers.unseen]
        # Before the servers go: a connection that breaks writes to the error output.
        self.close()
        remote.end_tasks([*workers, *servers], self._certificates, error, awaited)


class ParameterServerStrategyV1(_StrategyOnServers):
    """Asynchronous training in which each worker runs a loop of its own, as an Estimator does.

    Follows `tf.compat.v1.distribute.experimental.ParameterServerStrategy`. The same program runs in the chief and in
    the workers: each reads its own input, pulls the variables that a step needs, and pushes its gradients. The chief
    writes checkpoints and summaries. `tf.estimator.train_and_evaluate` runs such a training, in the parameter servers
    and the evaluator too. Without a cluster it is a `CentralStorageStrategy` of this machine's devices, as in
    TensorFlow.

    Args:
        cluster_resolver: Tells the addresses of the cluster's tasks, and which one this is; None:
            `TFConfigClusterResolver()`. Its cluster may be empty.
        max_staleness: As for `tf.distribute.ParameterServerStrategy`.

    Raises:
        BadTypeError: If `cluster_resolver` is none, or `max_staleness` no number.
        BadArgumentError: If `max_staleness` is negative.
        ClusterError: If the cluster has no parameter servers.

    Example:
        >>> import stratax.tf as tf
        >>> from stratax.cluster import SimpleClusterResolver
        >>> cluster = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"], "ps": ["127.0.0.1:3"]}
        >>> resolver = SimpleClusterResolver(tf.train.ClusterSpec(cluster), task_type="worker", task_id=0)
        >>> strategy = tf.compat.v1.distribute.experimental.ParameterServerStrategy(resolver)
        >>> strategy.num_replicas_in_sync
        1
    """

    def __new__(
        cls, cluster_resolver: ClusterResolver | None = None, *, max_staleness: int | None = None
    ) -> Any:
        """Return a strategy of this machine where there is no cluster."""
        resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        if isinstance(resolver, ClusterResolver) and not resolver.cluster_spec():
            _check_staleness(max_staleness)
            return CentralStorageStrategy()
        return super().__new__(cls)

    def __init__(
        self, cluster_resolver: ClusterResolver | None = None, *, max_staleness: int | None = None
    ) -> None:
        resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        _check_resolver("tf.compat.v1's ParameterServerStrategy", resolver)
        cluster = resolver.cluster_spec()
        _check_has_servers("tf.compat.v1's ParameterServerStrategy", cluster)
        tasks = [
            (job, index)
            for job in ("chief", "master", "worker")
            if job in cluster.jobs
            for index in cluster.task_indices(job)
        ]
        task = (resolver.task_type, resolver.task_id)
        # Without a chief, the first worker is.
        membership = OneOfMany(
            len(tasks), tasks.index(task) if task in tasks else None, is_chief=task in tasks[:1]
        )
        super().__init__(resolver, None, membership, has_workers=False, max_staleness=max_staleness)
        self._num_meetings = 0
        if membership.is_chief:
            # The parameter servers' programs end with the chief's.
            remote.prepare_end(len(_tasks(resolver, "ps")))
            exits.at_end(functools.partial(_end, weakref.ref(self)))

    def meeting(self) -> remote.Meeting:
        """Return where the tasks of the next training meet; all tasks ask for the same number of them."""
        self._num_meetings += 1
        return remote.Meeting(self._servers, str(self._num_meetings))

    def end(self, error: BaseException | None = None) -> None:
        """Tell the parameter servers that the job is over, if it has begun; the chief's program does at its end.

        Args:
            error: What it has failed with, which they name then.
        """
        # Before the servers go: a connection that breaks writes to the error output.
        self.close()
        if self._num_meetings:
            remote.end_tasks(_tasks(self._cluster_resolver, "ps"), self._certificates, error)


class ExperimentalParameterServerStrategy(ParameterServerStrategy):
    """Training on parameter servers, under the name that it had in TensorFlow 2.0 to 2.3, too.

    Follows `tf.distribute.experimental.ParameterServerStrategy`. Given a resolver, it is
    :class:`stratax.distribute.ParameterServerStrategy`. Without arguments, as those versions had it, it is
    `tf.compat.v1.distribute.experimental.ParameterServerStrategy`: `TF_CONFIG` says which tasks there are, each of
    which runs a loop of its own, and without one the variables are kept on this machine.

    Args:
        cluster_resolver: Tells the addresses of the cluster's tasks; None for what `TF_CONFIG` says.
        variable_partitioner: As for `tf.distribute.ParameterServerStrategy`; it needs a resolver.
        max_staleness: As for `tf.distribute.ParameterServerStrategy`.

    Raises:
        BadTypeError: If `cluster_resolver` is none, or missing beside a partitioner.

    Example:
        >>> import stratax.tf as tf
        >>> strategy = tf.distribute.experimental.ParameterServerStrategy()
        >>> isinstance(strategy, tf.distribute.experimental.CentralStorageStrategy)
        True
    """

    def __new__(
        cls,
        cluster_resolver: ClusterResolver | None = None,
        variable_partitioner: object = None,
        *,
        max_staleness: int | None = None,
    ) -> Any:
        """Return the strategy that programs of TensorFlow 2.0 mean where there are no arguments."""
        if cluster_resolver is not None:
            return super().__new__(cls)
        if variable_partitioner is not None:
            raise errors.BadTypeError(
                "variable_partitioner needs a cluster_resolver, such as TFConfigClusterResolver(), before it. "
                f"Received: variable_partitioner={shown(variable_partitioner)}."
            )
        return ParameterServerStrategyV1(max_staleness=max_staleness)


def _tasks(resolver: ClusterResolver, job: str) -> list[tuple[str, str]]:
    cluster = resolver.cluster_spec()
    indices = cluster.task_indices(job) if job in cluster.jobs else ()
    return [(f"/job:{job}/task:{index}", cluster.task_address(job, index)) for index in indices]


def _end(
    reference: "weakref.ref[ParameterServerStrategy | ParameterServerStrategyV1]", error: Exception | None
) -> None:
    strategy = reference()
    if strategy is not None:
        strategy.end(error)


def _check_resolver(name: str, resolver: object) -> None:
    if not isinstance(resolver, ClusterResolver):
        raise errors.BadTypeError(
            f"{name} expects a cluster resolver, such as TFConfigClusterResolver(). Received: "
            f"cluster_resolver={shown(resolver)}."
        )
    check_connectable(resolver)


def _check_staleness(max_staleness: object) -> None:
    if max_staleness is None:
        return
    if isinstance(max_staleness, bool) or not isinstance(max_staleness, int):
        raise errors.BadTypeError(
            f"max_staleness must be a whole number or None. Received: max_staleness={shown(max_staleness)}."
        )
    if max_staleness < 0:
        raise errors.BadArgumentError(
            f"max_staleness must be at least 0. Received: max_staleness={max_staleness}. Pass None for no bound."
        )


def _check_has_servers(name: str, cluster: ClusterSpec) -> None:
    if "ps" not in cluster.jobs:
        raise errors.ClusterError(
            f"{name} needs parameter servers. Expected: a cluster with tasks of the job 'ps'. Received: "
            f"{shown(cluster.as_dict())}."
        )
