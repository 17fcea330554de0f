"""What a TPU VM's metadata server says of the TPU (cluster layer)."""

import http.client
import os
import time
import urllib.error
import urllib.request
from typing import NamedTuple

from stratax.base.shown import shown
from stratax.cluster._physical import find_known_count, may_have_tpus
from stratax.cluster._simulate import is_simulated
from stratax.errors import ClusterError

# As for JAX: another address of the server, and that there is none.
_ADDRESS_VARIABLE = "GCE_METADATA_IP"
_SKIP_VARIABLE = "TPU_SKIP_MDS_QUERY"
_SERVER = "metadata.google.internal"
_HOSTS = "worker-network-endpoints"
_INDEX = "agent-worker-number"
_ENVIRONMENT = "tpu-env"

_ATTEMPTS = 5
_PAUSE_SECONDS = 0.5
_TIMEOUT_SECONDS = 5.0


class TPUHosts(NamedTuple):
    """A TPU's hosts as its metadata lists them.

    Attributes:
        hosts: Their names or addresses.
        number: Which of them this is.
        num_slices: Of how many slices the TPU consists.
    """

    hosts: list[str]
    number: str
    num_slices: str


def hosts_from_metadata() -> TPUHosts | None:
    """Ask which hosts the TPU of this virtual machine has.

    Returns:
        The hosts; None where there is no TPU, or no metadata server that knows of it.

    Raises:
        ClusterError: If there is a server that does not answer.
    """
    if is_simulated() or _SKIP_VARIABLE in os.environ or not may_have_tpus() or find_known_count("TPU") == 0:
        return None
    index = _attribute(_INDEX)
    listed = None if index is None else _attribute(_HOSTS)
    if index is None or listed is None:
        return None
    environment = dict(
        line.split(":", 1) for line in (_attribute(_ENVIRONMENT) or "").splitlines() if ":" in line
    )
    num_slices = environment.get("MEGASCALE_NUM_SLICES", "").strip().strip("'\"")
    return TPUHosts([_host(entry) for entry in listed.split(",") if entry.strip()], index.strip(), num_slices)


def _host(entry: str) -> str:
    """Return the host of an entry, which is one, or a name, a number and an address."""
    parts = entry.strip().split(":", 2)
    return parts[2] if len(parts) == 3 else entry.strip()


def _attribute(name: str) -> str | None:
    """Return an attribute; None if there is none of that name for this program, or no server."""
    server = os.environ.get(_ADDRESS_VARIABLE, _SERVER)
    request = urllib.request.Request(
        f"http://{server}/computeMetadata/v1/instance/attributes/{name}",
        headers={"Metadata-Flavor": "Google"},
    )
    # The server is this machine's own: no proxy reaches it.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    error: Exception | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        try:
            with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                text: str = response.read().decode()
                return text
        except urllib.error.HTTPError as failure:
            # It knows none, or tells nobody, as a server that keeps a node's attributes from its pods.
            if failure.code < http.client.INTERNAL_SERVER_ERROR:
                return None
            error = failure
        except urllib.error.URLError as failure:
            # A name that nobody knows, or nobody listens: a TPU, but none of Google's virtual machines.
            if not isinstance(failure.reason, TimeoutError):
                return None
            error = failure
        except (TimeoutError, http.client.HTTPException, ConnectionError) as failure:
            error = failure
    raise ClusterError(
        f"The metadata server does not say which hosts this TPU has: {server} gave no {name} in {_ATTEMPTS} attempts "
        f"({shown(error)}). Set TPU_WORKER_HOSTNAMES and TPU_WORKER_ID, or {_SKIP_VARIABLE}=1 on a TPU with one host."
    )
