"""The hosts of a TPU pod, as the TPU's environment or metadata lists them (cluster layer)."""

import os

from stratax.base.shown import shown
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.errors import ClusterError

# The port on a pod's first host at which its hosts meet; the one that JAX uses too.
TPU_PORT = 8482

_HOSTS = ("TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES")
_INDEX = "TPU_WORKER_ID"
_NUM_SLICES = "MEGASCALE_NUM_SLICES"


def pod_cluster(job_name: str) -> tuple[ClusterSpec, int]:
    """Read which hosts the TPU has and which of them this is.

    In Google Kubernetes Engine ``TPU_WORKER_HOSTNAMES`` (or ``TPU_PROCESS_ADDRESSES``) and ``TPU_WORKER_ID`` are set;
    on TPU VMs the metadata server says it.

    Args:
        job_name: The job that the hosts are the tasks of.

    Returns:
        The cluster, empty where the TPU has one host, and this host's number.

    Raises:
        ClusterError: If the number is missing or not that of a host, if the TPU consists of several slices, or if the
            metadata server does not answer.
    """
    # Late: it imports JAX, and who prints manifests needs the port only.
    from stratax.cluster._tpu_metadata import hosts_from_metadata

    hosts, index = _hosts(), os.environ.get(_INDEX)
    num_slices = os.environ.get(_NUM_SLICES, "")
    source = f"the environment variable {_INDEX}"
    # Who sets the variables knows better, for instance which of the machines take part.
    if not hosts and (found := hosts_from_metadata()) is not None:
        hosts, index, num_slices = (
            [_host(each) for each in found.hosts],
            found.number,
            num_slices or found.num_slices,
        )
        source = "agent-worker-number of the metadata"
    if num_slices.strip() not in ("", "1"):
        raise ClusterError(
            "A program runs on one slice of a TPU: the hosts of several are not connected here. Ask for one larger "
            f"slice, or start the program on each by itself, without the variables MEGASCALE_*. Received: "
            f"{_NUM_SLICES}={shown(num_slices)}."
        )
    # A single host sets the variables, too, and has nobody to connect to.
    if len(hosts) < 2:
        return ClusterSpec({}), 0
    number = (index or "").strip()
    if not number.isdecimal() or int(number) >= len(hosts):
        raise ClusterError(
            f"On a TPU with {len(hosts)} hosts {source} must be a number from 0 to {len(hosts) - 1}. "
            f"Received: {_INDEX}={shown(index)}."
        )
    return ClusterSpec({job_name: [f"{host}:{TPU_PORT}" for host in hosts]}), int(number)


def _hosts() -> list[str]:
    listed = next((os.environ[name] for name in _HOSTS if os.environ.get(name, "").strip()), "")
    return [_host(entry.strip()) for entry in listed.split(",") if entry.strip()]


def _host(entry: str) -> str:
    """Return a host as it stands in an address; a port in the list is that of the TPU's own runtime."""
    if entry.count(":") > 1 and not entry.startswith("["):
        return f"[{entry}]"
    return entry if entry.endswith("]") else entry.rsplit(":", 1)[0]
