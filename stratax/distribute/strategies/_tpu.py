"""`TPUStrategy` (distribute layer)."""

from collections.abc import Sequence
from typing import Any

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import Array
from stratax.cluster import Cluster, TPUClusterResolver, connect, local_devices
from stratax.distribute.replicas import replicate_to_devices, split_to_devices
from stratax.distribute.strategies._workers import WorkersStrategy, devices_of


class TPUStrategy(WorkersStrategy):
    """Synchronous training on the cores of a TPU, real or simulated.

    Follows `tf.distribute.TPUStrategy`. Every core has a copy of every variable; gradients travel over the TPU's own
    interconnect. On a pod the same program runs on each of the TPU's hosts, and the cores of all of them are the
    replicas; what is said of several workers at `MultiWorkerMirroredStrategy` holds for its hosts.

    Args:
        tpu_cluster_resolver: A `TPUClusterResolver`; None makes one.
        experimental_device_assignment: Which cores to use, as a list of `jax.Device`s; None for all.
        experimental_spmd_xla_partitioning: Accepted for TensorFlow's signature; programs always run that way here.

    Raises:
        NoTPUError: If there is no TPU (a `ValueError`).
        BadTypeError: If `tpu_cluster_resolver` is no resolver.

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
        super().__init__(cluster, _find_assigned_cores(experimental_device_assignment, cluster))

    @property
    def cluster_resolver(self) -> TPUClusterResolver:
        """The resolver that found the TPU."""
        return self._resolver

    def experimental_split_to_logical_devices(
        self, tensor: Array, partition_dimensions: Sequence[int]
    ) -> Array:
        """Have the cores of a replica divide the work on a tensor, as in TensorFlow; here a replica is one core.

        Args:
            tensor: The tensor.
            partition_dimensions: Into how many parts each of its dimensions is divided: 1.

        Returns:
            The tensor.

        Raises:
            BadArgumentError: If that is not a number for each dimension, or their product is not 1. Replicas of several
                devices are those of a `ShardedStrategy(model=...)`.
        """
        return split_to_devices(tensor, partition_dimensions, self.mesh)

    def experimental_replicate_to_logical_devices(self, tensor: Array) -> Array:
        """Have each core of a replica have the whole of a tensor, as in TensorFlow; here a replica is one core.

        Args:
            tensor: The tensor.
        """
        return replicate_to_devices(tensor, self.mesh)

    def experimental_assign_to_logical_device(self, tensor: Array, logical_device_id: int) -> Array:
        """Have one core of a replica compute a tensor, as in TensorFlow; here a replica is one core.

        Args:
            tensor: The tensor.
            logical_device_id: The number of the core in its replica: 0.

        Raises:
            BadArgumentError: If it is another one.
        """
        if logical_device_id != 0:
            raise errors.BadArgumentError(
                "A replica of a TPUStrategy is one core. Expected: logical_device_id=0. Received: "
                f"logical_device_id={shown(logical_device_id)}."
            )
        return tensor


def _find_assigned_cores(assignment: Any, cluster: Cluster) -> list[jax.Device]:
    cores = devices_of(cluster, local_devices("TPU"))
    if assignment is None:
        return cores
    unknown = [device for device in assignment if device not in cores]
    if unknown or not assignment:
        raise errors.DeviceError(
            f"experimental_device_assignment must list cores of this TPU. Expected: some of {cores}. "
            f"Received: {shown(list(assignment))}."
        )
    # In the order given, which is that of the replicas.
    return list(assignment)
