"""What every cluster resolver answers, and the one that is given its answers (cluster layer)."""

import abc

from stratax.base.shown import shown
from stratax.cluster._cluster_spec import ClusterDict, ClusterSpec
from stratax.errors import BadTypeError, ClusterError


class ClusterResolver(abc.ABC):
    """Finds out which tasks and devices a program has, as ``tf.distribute.cluster_resolver.ClusterResolver``.

    Attributes:
        task_type: This process's job, for example ``"worker"``; None where it has none.
        task_id: Its number within the job; None where it has none.
        rpc_layer: The protocol that `master` puts before an address; None for none.
        environment: Where the program runs; for the record.
    """

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str | None = ""

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """Return the addresses of every job's tasks.

        Returns:
            The cluster; empty where this process is alone.
        """

    @abc.abstractmethod
    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task.

        Args:
            task_type: The task's job; None: this process's.
            task_id: Its number; None: this process's.
            rpc_layer: A protocol to put before the address, as in ``grpc://``; None: the resolver's own.

        Returns:
            The address; empty where this process is alone.
        """

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: None = None
    ) -> dict[str, int]:
        """Count this process's accelerators; start JAX if it has not started.

        Connect first (`connect`, a strategy or `experimental_connect_to_cluster`) where there are several tasks:
        once JAX has started alone, it can't be connected any more.

        Args:
            task_type: The task's job: this process's, or None.
            task_id: Its number: this process's, or None.
            config_proto: Only for TensorFlow's signature: must be None.

        Returns:
            From the kind of accelerator to their number, for example ``{"GPU": 8}``; empty where there are none.

        Raises:
            ClusterError: If another task is asked about.
        """
        self._check_own(task_type, task_id)
        # Here, as it imports JAX: a resolver must work before JAX starts.
        from stratax.cluster._devices import local_devices

        counts = {kind: len(local_devices(kind)) for kind in ("GPU", "TPU")}
        return {kind: count for kind, count in counts.items() if count}

    def _check_own(self, task_type: str | None, task_id: int | None) -> None:
        asked = (
            self.task_type if task_type is None else task_type,
            self.task_id if task_id is None else task_id,
        )
        if asked != (self.task_type, self.task_id):
            raise ClusterError(
                f"A process can count its own accelerators only; this is task {self.task_id} of job "
                f"{shown(self.task_type)}. Received: task_type={shown(task_type)}, task_id={shown(task_id)}."
            )


class SimpleClusterResolver(ClusterResolver):
    """A resolver that is given everything, as ``tf.distribute.cluster_resolver.SimpleClusterResolver``.

    Args:
        cluster_spec: The cluster.
        master: The address that `master()` returns where no task is named.
        task_type: This process's job.
        task_id: Its number.
        environment: Where the program runs; for the record.
        num_accelerators: What `num_accelerators()` returns; None: the devices are counted.
        rpc_layer: The protocol that `master` puts before an address.

    Raises:
        BadTypeError: If `cluster_spec` is no cluster.

    Example:
        >>> resolver = SimpleClusterResolver(ClusterSpec({"worker": ["a:1", "b:1"]}), task_type="worker", task_id=1)
        >>> resolver.master("worker", 0), resolver.cluster_spec().num_tasks("worker")
        ('a:1', 2)
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec | ClusterDict,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(master, str):
            raise BadTypeError(f"master must be a string. Received: master={shown(master)}.")
        self._cluster_spec = ClusterSpec(cluster_spec)
        self._master = master
        self._num_accelerators = num_accelerators
        self.task_type = task_type
        self.task_id = task_id
        self.environment = environment
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster that was given."""
        return self._cluster_spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of the task that is named, or the `master` that was given; see `ClusterResolver`."""
        if task_type is None or task_id is None:
            return with_protocol(self._master, rpc_layer or self.rpc_layer)
        return with_protocol(self._cluster_spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: None = None
    ) -> dict[str, int]:
        """Return what was given, or count; see `ClusterResolver`."""
        if self._num_accelerators is not None:
            return dict(self._num_accelerators)
        return super().num_accelerators(task_type, task_id, config_proto)


class ListedClusterResolver(ClusterResolver):
    """Base class of resolvers that read a whole cluster, and this process's place in it, from the environment."""

    _cluster: ClusterSpec

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster that the environment describes; empty where this process is alone."""
        return self._cluster

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task; empty where this process is alone; see `ClusterResolver`."""
        asked_type = self.task_type if task_type is None else task_type
        asked_id = self.task_id if task_id is None else task_id
        if not self._cluster or asked_type is None or asked_id is None:
            return ""
        return with_protocol(self._cluster.task_address(asked_type, asked_id), rpc_layer or self.rpc_layer)


def with_protocol(address: str, protocol: str | None) -> str:
    """Return the address with its protocol before it, as in ``grpc://host:port``.

    Args:
        address: The address; an empty one stays so.
        protocol: The protocol, or None.
    """
    return f"{protocol}://{address}" if address and protocol else address


def check_resolver(resolver: object, name: str) -> None:
    """Check that an argument is a cluster resolver.

    Args:
        resolver: The argument.
        name: Its name, for the message.

    Raises:
        BadTypeError: If it is not.
    """
    if not isinstance(resolver, ClusterResolver):
        raise BadTypeError(
            f"{name} must be a ClusterResolver, for example TFConfigClusterResolver() or TPUClusterResolver(). "
            f"Received: {name}={shown(resolver)}."
        )
