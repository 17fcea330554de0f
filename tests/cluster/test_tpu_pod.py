"""TPU pods: the hosts that the TPU's environment lists."""

import pytest

from stratax.cluster import ClusterSpec
from stratax.cluster._tpu_pod import pod_cluster
from stratax.errors import ClusterError
from tests.cluster.processes import free_ports, no_tasks


@pytest.fixture(autouse=True)
def _no_pod(monkeypatch):
    for name in ("TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES", "TPU_WORKER_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("hosts", [None, "", "localhost"])
def test_a_tpu_of_one_host_is_no_pod(monkeypatch, hosts):
    if hosts is not None:
        monkeypatch.setenv("TPU_WORKER_HOSTNAMES", hosts)
    assert pod_cluster("worker") == (ClusterSpec({}), 0)


@pytest.mark.parametrize(
    ("variable", "hosts"),
    [("TPU_WORKER_HOSTNAMES", "h0, h1,h2"), ("TPU_PROCESS_ADDRESSES", "h0:8476,h1:8476,h2:8476")],
)
def test_the_hosts_of_a_pod_meet_at_the_first(monkeypatch, variable, hosts):
    monkeypatch.setenv(variable, hosts)
    monkeypatch.setenv("TPU_WORKER_ID", "2")
    assert pod_cluster("tpu_worker") == ({"tpu_worker": ["h0:8482", "h1:8482", "h2:8482"]}, 2)


def test_hosts_may_be_ipv6_addresses(monkeypatch):
    monkeypatch.setenv("TPU_WORKER_HOSTNAMES", "fe80::1, [fe80::2],[fe80::3]:8476")
    monkeypatch.setenv("TPU_WORKER_ID", "0")
    addresses = ["[fe80::1]:8482", "[fe80::2]:8482", "[fe80::3]:8482"]
    assert pod_cluster("worker")[0] == {"worker": addresses}


@pytest.mark.parametrize("index", [None, "", "x", "2", "-1"])
def test_a_host_must_be_one_of_the_pods(monkeypatch, index):
    monkeypatch.setenv("TPU_WORKER_HOSTNAMES", "a,b")
    if index is not None:
        monkeypatch.setenv("TPU_WORKER_ID", index)
    with pytest.raises(
        ClusterError, match=r"TPU with 2 hosts.*TPU_WORKER_ID must be a number from 0 to 1.*Received"
    ):
        pod_cluster("worker")


@pytest.mark.processes
def test_a_programs_beginning_runs_on_two_hosts_of_a_simulated_pod():
    port = free_ports(1)[0]
    program = f"""
from stratax.cluster import _tpu_pod
_tpu_pod.COORDINATOR_PORT = {port}
import stratax as sx
resolver = sx.cluster.TPUClusterResolver(tpu="")
sx.cluster.experimental_connect_to_cluster(resolver)
topology = sx.cluster.initialize_tpu_system(resolver)
report(devices=resolver.num_accelerators(), tasks=topology.num_tasks, id=resolver.task_id, names=topology.device_names)
"""
    with no_tasks() as running:
        for index in range(2):
            environment = tpu_host(index)
            running.start(program, environment)
        results = running.wait()
    assert [result.code for result in results] == [0, 0], results
    for index, result in enumerate(results):
        assert result.report["devices"] == {"TPU": 4}
        assert (result.report["tasks"], result.report["id"]) == (2, index)
        assert result.report["names"][-1] == "/job:worker/replica:0/task:1/device:TPU:3"


def tpu_host(index):
    """The environment of one host of a simulated pod; each has an address of the loopback network."""
    from tests.cluster.processes import environment

    variables = {
        "STRATAX_SIMULATE": "tpu:4",
        "TPU_WORKER_HOSTNAMES": "127.0.0.1,127.0.0.2",
        "TPU_WORKER_ID": str(index),
    }
    settings = environment({"worker": ["127.0.0.1:1"]}, "worker", 0, variables=variables)
    return {name: value for name, value in settings.items() if name != "TF_CONFIG"}
