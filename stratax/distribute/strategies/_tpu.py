"""`TPUStrategy` (distribute layer)."""

from collections.abc import Sequence
from typing import Any

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import Array
from stratax.cluster import (
    Cluster,
    DeviceAssignment,
    TPUClusterResolver,
    connect,
    device_name,
    local_devices,
)
from stratax.distribute.replicas import MODEL_AXIS, replicate_to_devices, split_to_devices
from stratax.distribute.strategies._workers import WorkersStrategy, devices_of


class TPUStrategy(WorkersStrategy):
    """Synchronous training on the cores of a TPU, real or simulated.

    Follows `tf.distribute.TPUStrategy`. Every core has a copy of every variable; gradients travel over the TPU's own
    interconnect. On a pod the same program runs on each of the TPU's hosts, and the cores of all of them are the
    replicas; what is said of several workers at `MultiWorkerMirroredStrategy` holds for its hosts.

    Args:
        tpu_cluster_resolver: A `TPUClusterResolver`; None makes one.
        experimental_device_assignment: Which cores are which replicas, as a `stratax.tpu.DeviceAssignment`, or those to
            use, as a list of `jax.Device`s; None for all. Cores of one replica share its part of the batch: each has a
            copy of every variable, and they divide the work on what `experimental_split_to_logical_devices` is told.
        experimental_spmd_xla_partitioning: Accepted for TensorFlow's signature; programs always run that way here.

    Raises:
        NoTPUError: If there is no TPU (a `ValueError`).
        BadTypeError: If `tpu_cluster_resolver` is no resolver.
        DeviceError: If cores are assigned that this TPU does not have.
        BadArgumentError: If cores of a replica belong to two hosts.

    Example:
        >>> import stratax as sx
        >>> try:
        ...     strategy = sx.distribute.TPUStrategy()
        ... except ValueError:
        ...     strategy = sx.distribute.get_strategy()
    """

    def __init__(
        self,
        tpu_cluster_resolver: TPUClusterResolver | None = None,
        experimental_device_assignment: object = None,
        experimental_spmd_xla_partitioning: bool = False,
    ) -> None:
        if tpu_cluster_resolver is not None and not isinstance(tpu_cluster_resolver, TPUClusterResolver):
            raise errors.BadTypeError(
                "TPUStrategy expects a TPUClusterResolver. "
                f"Received: tpu_cluster_resolver={shown(tpu_cluster_resolver)}. Write "
                "`TPUStrategy(TPUClusterResolver())`."
            )
        self._resolver = tpu_cluster_resolver or TPUClusterResolver()
        # The resolver has connected a pod already; then this finds the same cluster.
        cluster = connect(self._resolver)
        cores, per_replica = _find_assigned_cores(experimental_device_assignment, cluster)
        super().__init__(cluster, cores, model=per_replica)

    @property
    def cluster_resolver(self) -> TPUClusterResolver:
        """The resolver that found the TPU."""
        return self._resolver

    def experimental_split_to_logical_devices(
        self, tensor: Array, partition_dimensions: Sequence[int]
    ) -> Array:
        """Have the cores of a replica divide the work on a tensor, as in TensorFlow.

        Args:
            tensor: The tensor.
            partition_dimensions: Into how many parts each of its dimensions is divided.

        Returns:
            The tensor.

        Raises:
            BadArgumentError: If that is not a number for each dimension, or their product is not the number of cores of
                a replica: 1 without a `DeviceAssignment`.
        """
        return split_to_devices(tensor, partition_dimensions, self.mesh)

    def experimental_replicate_to_logical_devices(self, tensor: Array) -> Array:
        """Have each core of a replica have the whole of a tensor, as in TensorFlow.

        Args:
            tensor: The tensor.
        """
        return replicate_to_devices(tensor, self.mesh)

    def experimental_assign_to_logical_device(self, tensor: Array, logical_device_id: int) -> Array:
        """Have a core of a replica compute a tensor, as in TensorFlow; here the others compute it, too.

        Args:
            tensor: The tensor.
            logical_device_id: The number of the core in its replica.

        Raises:
            BadArgumentError: If there is no such core.
        """
        count = self.mesh.shape[MODEL_AXIS]
        if logical_device_id not in range(count):
            raise errors.BadArgumentError(
                f"A replica of this strategy has {count} cores. Expected: logical_device_id from 0 to {count - 1}. "
                f"Received: logical_device_id={shown(logical_device_id)}."
            )
        return replicate_to_devices(tensor, self.mesh)


def _find_assigned_cores(assignment: Any, cluster: Cluster) -> tuple[list[jax.Device], int]:
    """Return the cores in the order of replicas, and how many each of these has."""
    cores = devices_of(cluster, local_devices("TPU"))
    if assignment is None:
        return cores, 1
    if isinstance(assignment, DeviceAssignment):
        return _find_cores_of_replicas(assignment, cores), assignment.num_cores_per_replica
    unknown = [device for device in assignment if device not in cores]
    if unknown or not assignment:
        raise errors.DeviceError(
            "experimental_device_assignment must be a stratax.tpu.DeviceAssignment, or list cores of this TPU. "
            f"Expected: some of {cores}. Received: {shown(list(assignment))}."
        )
    # In the order given, which is that of the replicas.
    return list(assignment), 1


def _find_cores_of_replicas(assignment: DeviceAssignment, cores: Sequence[jax.Device]) -> list[jax.Device]:
    by_name = {device_name(core): core for core in cores}
    found: list[jax.Device] = []
    for replica in range(assignment.num_replicas):
        names = [assignment.tpu_device(replica, number) for number in range(assignment.num_cores_per_replica)]
        own = [by_name[name] for name in names if name in by_name]
        if len(own) < len(names):
            raise errors.DeviceError(
                f"experimental_device_assignment has cores of another TPU. Expected: some of {sorted(by_name)}. "
                f"Received: {names}."
            )
        if len({core.process_index for core in own}) > 1:
            raise errors.BadArgumentError(
                "Cores of one replica share its part of the batch, which one host reads. Expected: cores of one host "
                f"in each replica. Received: {names}."
            )
        found += own
    return found
