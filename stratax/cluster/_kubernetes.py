"""`KubernetesClusterResolver`: the pods of an indexed Job (cluster layer)."""

import os
import socket
from collections.abc import Mapping
from typing import Any

from stratax.base.shown import shown
from stratax.cluster._cluster_resolver import ListedClusterResolver
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._plan_checks import check_port
from stratax.errors import BadArgumentError, ClusterError

# How many pods the indexed Job has (its ``completions``).
NUM_WORKERS_VARIABLE = "STRATAX_NUM_WORKERS"

# The headless Service that gives the pods their names; where it is not set, it is called like the Job.
SERVICE_VARIABLE = "STRATAX_SERVICE"

# The Job's name; where it is not set, it is read from the pod's host name, which is the Job's name and the index.
JOB_VARIABLE = "STRATAX_JOB"

_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


class KubernetesClusterResolver(ListedClusterResolver):
    """The workers of an indexed Kubernetes Job, as ``tf.distribute.cluster_resolver.KubernetesClusterResolver``.

    Unlike TensorFlow's it does not ask the Kubernetes server for pods by their labels, so it needs no rights and no
    client: pod n of an indexed Job with a headless Service is called ``<job>-<n>.<service>``. ``stratax manifest
    kubernetes`` prints such a Job with the variables that are read here: Kubernetes' ``JOB_COMPLETION_INDEX``,
    ``STRATAX_NUM_WORKERS``, ``STRATAX_SERVICE`` and ``STRATAX_JOB``.

    Args:
        job_to_label_mapping: Must be None: pods are not looked for by label.
        tf_server_port: The port of every worker.
        rpc_layer: The protocol that `master` puts before an address.
        override_client: Must be None: no client is needed.

    Raises:
        ClusterError: If this is no pod of an indexed Job, or a variable is missing or wrong.
        BadArgumentError: If an argument that has no meaning here is given, or the port is out of range.
        BadTypeError: If the port is not an int.

    Example:
        >>> resolver = KubernetesClusterResolver()  # doctest: +SKIP
        >>> resolver.cluster_spec()  # doctest: +SKIP
        ClusterSpec({'worker': ['digits-0.digits:8470', 'digits-1.digits:8470']})
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Any] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str | None = "grpc",
        override_client: object = None,
    ) -> None:
        for name, value in (
            ("job_to_label_mapping", job_to_label_mapping),
            ("override_client", override_client),
        ):
            if value is not None:
                raise BadArgumentError(
                    f"{name} has no meaning here: the pods of an indexed Job are found by their names. Leave it out. "
                    f"Received: {name}={shown(value)}."
                )
        check_port("tf_server_port", tf_server_port)
        index, count = _number(_INDEX_VARIABLE), _number(NUM_WORKERS_VARIABLE)
        if index >= count:
            raise ClusterError(
                f"The Job has {count} workers, numbers 0 to {count - 1}. Received: {_INDEX_VARIABLE}={index}, "
                f"{NUM_WORKERS_VARIABLE}={count}."
            )
        job = _job_name(index)
        service = os.environ.get(SERVICE_VARIABLE) or job
        # The names that a headless Service gives an indexed Job's pods; they resolve once the pods run.
        addresses = [f"{job}-{number}.{service}:{tf_server_port}" for number in range(count)]
        self._cluster = ClusterSpec({"worker": addresses})
        self.task_type, self.task_id = "worker", index
        self.rpc_layer = rpc_layer


def _number(variable: str) -> int:
    value = os.environ.get(variable, "").strip()
    if not value.isdecimal():
        raise ClusterError(
            f"In a pod of an indexed Job the environment variable {variable} is a number: set completionMode: Indexed "
            "and the variables that `stratax manifest kubernetes` prints. "
            f"Received: {variable}={shown(os.environ.get(variable))}."
        )
    return int(value)


def _job_name(index: int) -> str:
    given = os.environ.get(JOB_VARIABLE, "").strip()
    if given:
        return given
    host, suffix = socket.gethostname().split(".")[0], f"-{index}"
    if not host.endswith(suffix) or host == suffix:
        raise ClusterError(
            f"The host name of pod {index} of an indexed Job is the Job's name and '{suffix}'. Set {JOB_VARIABLE} to "
            f"the Job's name. Received: host name {shown(host)}."
        )
    return host.removesuffix(suffix)
