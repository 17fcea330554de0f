"""`tf.train.replica_device_setter`: where a program's variables would be (graph layer)."""

from typing import Any

from stratax.base.shown import shown
from stratax.errors import UnimplementedError


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: object = None,
    ps_strategy: object = None,
) -> None:
    """Return what `tf.device` takes for variables on parameter servers, as `tf.train.replica_device_setter`: None.

    Without parameter servers there is nothing to say, as in TensorFlow.

    Args:
        ps_tasks: How many parameter servers there are.
        ps_device: The job of these.
        worker_device: Ignored.
        merge_devices: Ignored.
        cluster: The cluster, as a `ClusterSpec` or a dictionary; None for none.
        ps_ops: Ignored.
        ps_strategy: Ignored.

    Raises:
        UnimplementedError: If there are parameter servers: sessions do not share variables.
    """
    jobs = cluster.as_dict() if hasattr(cluster, "as_dict") else dict(cluster or {})
    servers = len(jobs.get(ps_device.removeprefix("/job:").partition("/")[0], ())) if cluster else ps_tasks
    if servers:
        raise UnimplementedError(
            "Sessions of several processes do not share variables. Expected: a program of one process, or an "
            "Estimator, or a `model_fn`, whose `TF_CONFIG` names parameter servers, or a ParameterServerStrategy. "
            f"Received: ps_tasks={ps_tasks}, cluster={shown(cluster)}."
        )
