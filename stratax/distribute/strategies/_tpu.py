"""`TPUStrategy` (distribute layer)."""

from typing import Any, NoReturn

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import Cluster, TPUClusterResolver, connect, local_devices
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

    def experimental_split_to_logical_devices(self, tensor: object, partition_dimensions: object) -> NoReturn:
        """Refuse to divide a tensor of one replica over several cores: a replica is one core.

        Args:
            tensor: The tensor.
            partition_dimensions: Into how many parts each of its dimensions was to be divided.

        Raises:
            UnimplementedError: In any case.
        """
        raise errors.UnimplementedError(
            "experimental_split_to_logical_devices divides a tensor over the cores of one replica, and each replica of "
            f"a TPUStrategy here is one core. Received: partition_dimensions={shown(partition_dimensions)}. Leave the "
            "call out, or lay out the model's arrays over all cores with `keras.distribution.ModelParallel`."
        )


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
