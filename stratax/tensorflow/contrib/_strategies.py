"""Strategies of `tf.contrib.distribute`, which count GPUs where later ones list devices."""

from collections.abc import Sequence
from typing import Any

from stratax import distribute
from stratax.distribute import strategies
from stratax.distribute.strategies import experimental


def MirroredStrategy(
    devices: Sequence[str] | None = None,
    num_gpus: int | None = None,
    num_gpus_per_worker: int | None = None,
    cross_device_ops: Any = None,
    auto_shard_dataset: bool = False,
    cross_tower_ops: Any = None,
) -> distribute.MirroredStrategy:
    """Return a strategy of one process, or, where `TF_CONFIG` names several, of all of them.

    Args:
        devices: The devices; by default all.
        num_gpus: How many GPUs, in the place of `devices`.
        num_gpus_per_worker: Likewise.
        cross_device_ops: How replicas' values are reduced.
        auto_shard_dataset: Ignored: Datasets are divided where several processes share them.
        cross_tower_ops: An older name of `cross_device_ops`.
    """
    count = num_gpus_per_worker if num_gpus is None else num_gpus
    if devices is None and count:
        devices = [f"/gpu:{index}" for index in range(count)]
    return distribute.MirroredStrategy(devices, cross_device_ops=cross_device_ops or cross_tower_ops)


def CollectiveAllReduceStrategy(
    num_gpus_per_worker: int = 0, communication: Any = None
) -> distribute.MultiWorkerMirroredStrategy:
    """Return the strategy of the workers that `TF_CONFIG` names, as `MultiWorkerMirroredStrategy`.

    Args:
        num_gpus_per_worker: Ignored: a worker takes the devices that it has.
        communication: How workers' values are reduced.
    """
    given = {} if communication is None else {"communication": communication}
    return experimental.MultiWorkerMirroredStrategy(**given)


def ParameterServerStrategy(num_gpus_per_worker: int = 0) -> strategies.ParameterServerStrategyV1:
    """Return the strategy of parameter servers for Estimators.

    Args:
        num_gpus_per_worker: Ignored: a worker takes the devices that it has.
    """
    return strategies.ParameterServerStrategyV1()


def TPUStrategy(
    tpu_cluster_resolver: Any = None, steps_per_run: int | None = None, device_assignment: Any = None
) -> distribute.TPUStrategy:
    """Return the strategy of TPU cores.

    Args:
        tpu_cluster_resolver: Which TPU.
        steps_per_run: Ignored: `fit` and Estimators have arguments of their own.
        device_assignment: Which cores.
    """
    return distribute.TPUStrategy(tpu_cluster_resolver, experimental_device_assignment=device_assignment)


def AllReduceCrossDeviceOps(
    all_reduce_alg: str = "nccl",
    num_packs: int = 1,
    agg_small_grads_max_bytes: int = 0,
    agg_small_grads_max_group: int = 10,
) -> distribute.CrossDeviceOps:
    """Return how replicas' values are reduced, as `tf.contrib.distribute.AllReduceCrossDeviceOps`.

    Args:
        all_reduce_alg: `"hierarchical_copy"` for two levels; all else is XLA's own.
        num_packs: In how many parts values are reduced.
        agg_small_grads_max_bytes: Ignored: small ones are put together.
        agg_small_grads_max_group: Ignored.
    """
    if all_reduce_alg == "hierarchical_copy":
        return distribute.HierarchicalCopyAllReduce(num_packs)
    return distribute.NcclAllReduce(num_packs)
