"""The hosts of a TPU pod, as the TPU's own environment lists them (cluster layer)."""

import os

from stratax._shown import shown
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.errors import ClusterError

# The port on a pod's first host at which its hosts meet; the one that JAX uses too.
COORDINATOR_PORT = 8482

_HOSTS = ("TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES")
_INDEX = "TPU_WORKER_ID"


def pod_cluster(job_name: str) -> tuple[ClusterSpec, int]:
    """Read which hosts the TPU has and which of them this is.

    The TPU's runtime sets ``TPU_WORKER_HOSTNAMES`` (or ``TPU_PROCESS_ADDRESSES``) and ``TPU_WORKER_ID``.

    Args:
        job_name: The job that the hosts are the tasks of.

    Returns:
        The cluster, empty where the TPU has one host, and this host's number.

    Raises:
        ClusterError: If the number is missing or not that of a host.
    """
    hosts = _hosts()
    # A single host sets the variables, too, and has nobody to connect to.
    if len(hosts) < 2:
        return ClusterSpec({}), 0
    index = os.environ.get(_INDEX, "").strip()
    if not index.isdecimal() or int(index) >= len(hosts):
        raise ClusterError(
            f"On a TPU with {len(hosts)} hosts the environment variable {_INDEX} must be a number from 0 to "
            f"{len(hosts) - 1}. Received: {_INDEX}={shown(os.environ.get(_INDEX))}."
        )
    return ClusterSpec({job_name: [f"{host}:{COORDINATOR_PORT}" for host in hosts]}), int(index)


def _hosts() -> list[str]:
    listed = next((os.environ[name] for name in _HOSTS if os.environ.get(name, "").strip()), "")
    return [_host(entry.strip()) for entry in listed.split(",") if entry.strip()]


def _host(entry: str) -> str:
    """Return a host as it stands in an address; a port in the list is that of the TPU's own runtime."""
    if entry.count(":") > 1 and not entry.startswith("["):
        return f"[{entry}]"
    return entry if entry.endswith("]") else entry.rsplit(":", 1)[0]
