"""`MultiWorkerMirroredStrategy`: the devices of several processes, in step (distribute layer)."""

import logging
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import Cluster, ClusterResolver, check_jobs, connect
from stratax.distribute.collectives import CommunicationOptions
from stratax.distribute.strategies._workers import JOBS, WorkersStrategy, devices_of, find_resolver, has_peers

_HINT = (
    " How workers communicate is said with communication_options=CommunicationOptions(implementation=...)."
)
_logger = logging.getLogger("stratax")


class MultiWorkerMirroredStrategy(WorkersStrategy):
    """Synchronous training on the devices of several processes, on one host or many.

    Follows `tf.distribute.MultiWorkerMirroredStrategy`. The same program runs in every worker; `TF_CONFIG` says who
    takes part. Every device of every worker is a replica and has a copy of every variable; new variables begin with
    the chief's values, and the workers' random states are made equal where they were not, so every worker is in the
    same state after every step. Reading a variable or computing with it needs no other worker.

    Without ``TF_CONFIG`` (or with a cluster of one worker) it is a single worker with its local devices and says so.

    Args:
        cluster_resolver: A `ClusterResolver`; None: a `TFConfigClusterResolver`.
        communication_options: A :class:`CommunicationOptions`; None for the defaults.

    Raises:
        BadTypeError: If an argument has the wrong type.
        ClusterError: If `TF_CONFIG` is wrong, names a role that this strategy does not have, or the workers do not
            have as many devices each.
        ClusterTimeoutError: If not all tasks come within the resolver's time limit; names those that are missing.

    Example:
        >>> import stratax as sx
        >>> options = sx.distribute.CommunicationOptions(timeout_seconds=120.0)
        >>> strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
        >>> strategy.num_workers
        1
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None = None,
        communication_options: CommunicationOptions | None = None,
    ) -> None:
        self._options = _check_options(communication_options)
        self._resolver = find_resolver(cluster_resolver, _HINT)
        # Before JAX is asked for devices: the processes have to be joined when it starts.
        cluster = _connect(self._resolver, self._options)
        devices = devices_of(cluster)
        has_gpus = devices[0].platform in ("gpu", "cuda", "rocm")
        super().__init__(cluster, devices, self._options.cross_device_ops(has_gpus))

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """The resolver that found the cluster."""
        return self._resolver


def _connect(resolver: Any, options: CommunicationOptions) -> Cluster:
    # Before any connection: a wrong cluster should not wait for tasks that never come.
    check_jobs(resolver.cluster_spec(), JOBS, "MultiWorkerMirroredStrategy")
    if options.timeout_seconds is None:
        cluster = connect(resolver)
    else:
        cluster = connect(resolver, step_timeout=options.timeout_seconds)
        if has_peers(cluster):
            # Of a cluster that was connected before, whose limit another strategy may have set.
            cluster.set_step_timeout(options.timeout_seconds)
    if not has_peers(cluster):
        _say_alone(cluster, type(resolver).__name__)
    return cluster


def _say_alone(cluster: Cluster, resolver: str) -> None:
    if not cluster.cluster_spec:
        _logger.warning(
            "MultiWorkerMirroredStrategy has one worker, this process: %s found no cluster. Where there should be "
            "more, set TF_CONFIG in each of them, as `stratax launch` does.",
            resolver,
        )
    elif cluster.task_type == "evaluator":
        _logger.info("MultiWorkerMirroredStrategy has this process alone: an evaluator computes on its own.")
    else:
        _logger.info("MultiWorkerMirroredStrategy has one worker, this process: its cluster names no other.")


def _check_options(options: object) -> CommunicationOptions:
    if options is None:
        return CommunicationOptions()
    if not isinstance(options, CommunicationOptions):
        raise errors.BadTypeError(
            "communication_options must be a stratax.distribute.CommunicationOptions. "
            f"Received: communication_options={shown(options)}."
        )
    return options
