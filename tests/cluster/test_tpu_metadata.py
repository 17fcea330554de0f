"""What the metadata server of a TPU VM says of its pod."""

import pytest

from stratax.cluster import ClusterSpec, _tpu_metadata
from stratax.cluster._tpu_pod import pod_cluster
from stratax.errors import ClusterError
from tests.cluster.test_tpu_pod import metadata_server


@pytest.fixture(autouse=True)
def _no_pod(monkeypatch):
    for name in ("TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES", "TPU_WORKER_ID", "MEGASCALE_NUM_SLICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tpu_vm(monkeypatch):
    """A host that has chips, and no variables."""
    monkeypatch.delenv("TPU_SKIP_MDS_QUERY", raising=False)
    monkeypatch.setattr(_tpu_metadata, "is_simulated", lambda: False)
    monkeypatch.setattr(_tpu_metadata, "may_have_tpus", lambda: True)
    monkeypatch.setattr(_tpu_metadata, "find_known_count", lambda kind: None)
    monkeypatch.setattr(_tpu_metadata, "_PAUSE_SECONDS", 0)

    def asked_at(address):
        monkeypatch.setenv("GCE_METADATA_IP", address)
        # A proxy would be asked in vain.
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    return asked_at


@pytest.mark.parametrize(
    ("endpoints", "addresses"),
    [
        (
            "uid0:1:10.0.0.2,uid1:2:10.0.0.3,uid2:3:10.0.0.4",
            ["10.0.0.2:8482", "10.0.0.3:8482", "10.0.0.4:8482"],
        ),
        ("t-w-0,t-w-1, t-w-2", ["t-w-0:8482", "t-w-1:8482", "t-w-2:8482"]),
        ("a:1:fe80::1,b:2:fe80::2,c:3:fe80::3", ["[fe80::1]:8482", "[fe80::2]:8482", "[fe80::3]:8482"]),
    ],
)
def test_on_a_tpu_vm_the_metadata_lists_the_hosts(tpu_vm, endpoints, addresses):
    attributes = {"agent-worker-number": "2", "worker-network-endpoints": endpoints, "tpu-env": "ZONE: 'z'\n"}
    with metadata_server(attributes, failures=2) as address:
        tpu_vm(address)
        assert pod_cluster("worker") == ({"worker": addresses}, 2)


@pytest.mark.parametrize("missing", ["is_simulated", "may_have_tpus", "find_known_count"])
def test_where_there_are_no_chips_nobody_is_asked(tpu_vm, monkeypatch, missing):
    asked = []
    found = {"is_simulated": lambda: True, "may_have_tpus": lambda: False, "find_known_count": lambda kind: 0}
    monkeypatch.setattr(_tpu_metadata, missing, found[missing])
    with metadata_server({}, asked=asked) as address:
        tpu_vm(address)
        assert pod_cluster("worker") == (ClusterSpec({}), 0)
    assert asked == []


def test_a_server_that_does_not_answer_is_told(tpu_vm):
    with metadata_server({}, failures=99) as address:
        tpu_vm(address)
        with pytest.raises(
            ClusterError, match=r"no agent-worker-number in 5 attempts.*503.*TPU_SKIP_MDS_QUERY=1"
        ):
            pod_cluster("worker")


def test_the_number_in_the_metadata_must_be_a_hosts(tpu_vm):
    with metadata_server({"agent-worker-number": "2", "worker-network-endpoints": "a,b"}) as address:
        tpu_vm(address)
        with pytest.raises(
            ClusterError, match=r"2 hosts agent-worker-number of the metadata must be .* 0 to 1"
        ):
            pod_cluster("worker")
