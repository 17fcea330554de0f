"""TPU pods: the hosts that the TPU's environment lists."""

import contextlib
import http.server
import threading

import jax
import pytest

from stratax.cluster import ClusterSpec, _resolvers, _tpu_metadata
from stratax.cluster._tpu_pod import pod_cluster
from stratax.errors import ClusterError
from tests.cluster.processes import free_ports, no_tasks


@pytest.fixture(autouse=True)
def _no_pod(monkeypatch):
    for name in ("TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES", "TPU_WORKER_ID", "MEGASCALE_NUM_SLICES"):
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


@contextlib.contextmanager
def metadata_server(attributes, *, failures=0, asked=None, missing=404):
    """Answer as the metadata server of a TPU VM does, on a port of this machine; give its address."""
    remaining = [failures]
    prefix = "/computeMetadata/v1/instance/attributes/"

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if asked is not None:
                asked.append(self.path)
            text = attributes.get(self.path.removeprefix(prefix))
            if self.headers.get("Metadata-Flavor") != "Google":
                self.send_error(403)
            elif remaining[0]:
                remaining[0] -= 1
                self.send_error(503)
            elif text is None:
                self.send_error(missing)
            else:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


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


def test_variables_take_precedence_over_the_metadata(tpu_vm, monkeypatch):
    asked = []
    with metadata_server({}, asked=asked) as address:
        tpu_vm(address)
        monkeypatch.setenv("TPU_WORKER_HOSTNAMES", "localhost")
        assert pod_cluster("worker") == (ClusterSpec({}), 0)
        assert asked == []
        monkeypatch.delenv("TPU_WORKER_HOSTNAMES")
        monkeypatch.setenv("TPU_SKIP_MDS_QUERY", "1")
        assert pod_cluster("worker") == (ClusterSpec({}), 0)
        assert asked == []


@pytest.mark.parametrize(
    ("attributes", "missing"),
    [({}, 404), ({}, 403), ({"agent-worker-number": "0", "worker-network-endpoints": "uid:1:10.0.0.2"}, 404)],
)
def test_a_tpu_vm_may_be_the_only_host_or_none_of_a_tpu_of_the_cloud(tpu_vm, attributes, missing):
    with metadata_server(attributes, missing=missing) as address:
        tpu_vm(address)
        assert pod_cluster("worker") == (ClusterSpec({}), 0)


def test_a_tpu_of_nobodys_cloud_has_one_host(tpu_vm):
    with metadata_server({}) as address:
        pass
    # Nobody listens any more.
    tpu_vm(address)
    assert pod_cluster("worker") == (ClusterSpec({}), 0)


def test_several_slices_are_refused(tpu_vm, monkeypatch):
    attributes = {
        "agent-worker-number": "0",
        "worker-network-endpoints": "a,b",
        "tpu-env": "ACCELERATOR_TYPE: 'v5litepod-16'\nMEGASCALE_NUM_SLICES: '2'\n",
    }
    with metadata_server(attributes) as address:
        tpu_vm(address)
        with pytest.raises(ClusterError, match=r"one slice of a TPU.*Received: MEGASCALE_NUM_SLICES='2'"):
            pod_cluster("worker")
    monkeypatch.setenv("TPU_WORKER_HOSTNAMES", "localhost")
    monkeypatch.setenv("MEGASCALE_NUM_SLICES", "4")
    with pytest.raises(ClusterError, match="MEGASCALE_NUM_SLICES='4'"):
        pod_cluster("worker")
    monkeypatch.setenv("MEGASCALE_NUM_SLICES", "1")
    assert pod_cluster("worker") == (ClusterSpec({}), 0)


def test_hosts_that_only_jax_knows_of_are_not_left_alone(monkeypatch):
    monkeypatch.setattr(_resolvers, "_tpu_devices", lambda: jax.local_devices())
    assert _resolvers.TPUClusterResolver().task_id == 0
    monkeypatch.setattr(jax, "process_count", lambda: 4)
    with pytest.raises(ClusterError, match=r"other hosts.*Set TPU_WORKER_HOSTNAMES.*process 0 of 4"):
        _resolvers.TPUClusterResolver()


@pytest.mark.processes
def test_a_programs_beginning_runs_on_two_hosts_of_a_simulated_pod():
    port = free_ports(1)[0]
    program = f"""
from stratax.cluster import _tpu_pod
_tpu_pod.TPU_PORT = {port}
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


@pytest.mark.processes
def test_a_pod_found_by_its_metadata_trains_as_one():
    port = free_ports(1)[0]
    program = f"""
from stratax.cluster import _tpu_metadata, _tpu_pod
_tpu_pod.TPU_PORT = {port}
_tpu_metadata.is_simulated, _tpu_metadata.may_have_tpus = lambda: False, lambda: True
import stratax as sx
strategy = sx.distribute.TPUStrategy(sx.cluster.TPUClusterResolver())
def replica():
    context = sx.distribute.get_replica_context()
    return context.all_reduce("sum", context.replica_id_in_sync_group + 1.0)
total = strategy.experimental_local_results(strategy.run(replica))[0]
report(replicas=strategy.num_replicas_in_sync, total=float(total), workers=sx.cluster.current().num_processes)
"""
    endpoints = "a:1:127.0.0.1,b:2:127.0.0.2"
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(no_tasks())
        for index in range(2):
            answers = {"agent-worker-number": str(index), "worker-network-endpoints": endpoints}
            environment = tpu_host(index)
            environment["GCE_METADATA_IP"] = stack.enter_context(metadata_server(answers))
            for name in ("TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID"):
                del environment[name]
            # JAX says with it that there are no chips here.
            environment.pop("TPU_SKIP_MDS_QUERY", None)
            program_of_host = "import os, jax; os.environ.pop('TPU_SKIP_MDS_QUERY', None)\n" + program
            running.start(program_of_host, environment)
        results = running.wait()
    assert [result.code for result in results] == [0, 0], results
    assert all(result.report == {"replicas": 8, "total": 36.0, "workers": 2} for result in results)


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
