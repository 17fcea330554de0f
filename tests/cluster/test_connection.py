"""Connecting: in any order, once, to the right cluster, and past whatever else is on the port."""

import contextlib
import re
import socket
import threading
import time

import numpy as np
import pytest

from stratax.cluster import (
    ClusterSpec,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    connect,
    experimental_connect_to_cluster,
)
from stratax.cluster._connection import _State, _warn_of_strangers
from stratax.errors import BadArgumentError, BadTypeError, ClusterError
from tests.cluster.meetings import membership_of
from tests.cluster.processes import addresses, environment, no_tasks, places, run_tasks
from tests.cluster.programs import CONNECT, TRAIN


@pytest.fixture(autouse=True)
def not_connected(monkeypatch):
    """Makes this process forget that it ever connected."""
    monkeypatch.setattr("stratax.cluster._connection._state", _State())
    monkeypatch.delenv("TF_CONFIG", raising=False)


def start(running, cluster, program, place, **options):
    """Starts one task of a cluster."""
    return running.start(program, environment(cluster, *place, **options))


def test_without_a_cluster_this_process_is_alone_and_waits_for_nobody():
    cluster = connect(TFConfigClusterResolver())
    cluster.barrier("here")
    assert cluster.all_gather("value", b"mine") == [b"mine"]
    assert cluster.broadcast("value", b"mine") == b"mine"
    assert (cluster.process_index, cluster.num_processes, cluster.is_chief) == (0, 1, True)
    assert not cluster.agree_on_stop(np.int64(3))
    with pytest.raises(BadTypeError, match=r"step's number must be an integer.*step=3\.5"):
        cluster.agree_on_stop(3.5)
    cluster.request_stop("enough")
    assert [cluster.agree_on_stop(3), cluster.agree_on_stop(4)] == [True, True]
    assert cluster.stop_reason == "enough"


@pytest.mark.parametrize(("task_type", "count"), [("worker", 1), ("evaluator", 2), ("ps", 2)])
def test_one_worker_an_evaluator_and_a_parameter_server_start_nothing(task_type, count):
    spec = {"worker": [f"127.0.0.1:{number + 1}" for number in range(count)], "ps": ["127.0.0.1:9"]}
    cluster = connect(SimpleClusterResolver(spec, task_type=task_type, task_id=0))
    assert (cluster.num_processes, cluster.task_name()) == (1, f"/job:{task_type}/task:0")


def test_a_second_call_gives_the_same_cluster():
    spec = {"worker": ["127.0.0.1:1"]}
    first = connect(SimpleClusterResolver(spec, task_type="worker", task_id=0))
    assert connect(SimpleClusterResolver(spec, task_type="worker", task_id=0)) is first


def test_several_processes_can_not_be_joined_once_jax_has_started():
    import jax

    jax.devices()
    spec = ClusterSpec({"worker": ["127.0.0.1:1", "127.0.0.1:2"]})
    with pytest.raises(ClusterError, match=r"JAX has started already.*Connect first.*devices="):
        experimental_connect_to_cluster(spec, "worker", 1)


@pytest.mark.parametrize(
    ("resolver", "error", "message"),
    [
        ("worker", BadTypeError, "must be a ClusterResolver.*'worker'"),
        (SimpleClusterResolver({"worker": ["a:1"]}), ClusterError, "does not say which task.*task_type=None"),
        (
            SimpleClusterResolver({"worker": ["a"]}, task_type="worker", task_id=0),
            ClusterError,
            r"cluster.worker\[0\].*no port",
        ),
        (
            SimpleClusterResolver({"worker": ["a:1"]}, task_type="worker", task_id=1),
            ClusterError,
            "task.index is out of range",
        ),
    ],
)
def test_what_does_not_describe_a_task_of_a_cluster_is_refused(resolver, error, message):
    with pytest.raises(error, match=message):
        connect(resolver)


@pytest.mark.parametrize("name", ["timeout", "step_timeout", "silence_timeout"])
def test_times_must_be_positive(name):
    with pytest.raises(BadArgumentError, match=rf"{name} must be positive.*{name}=0"):
        connect(TFConfigClusterResolver(), **{name: 0})
    with pytest.raises(BadTypeError, match=rf"{name} must be a number of seconds.*{name}='3'"):
        connect(TFConfigClusterResolver(), **{name: "3"})


def test_a_tf_config_that_was_set_after_the_resolver_was_made_is_an_error(monkeypatch):
    resolver = TFConfigClusterResolver()
    monkeypatch.setenv(
        "TF_CONFIG", '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'
    )
    with pytest.raises(ClusterError, match="TF_CONFIG was changed after the resolver had read it"):
        connect(resolver)


def test_connect_to_cluster_takes_a_spec_or_a_resolver_and_no_filters():
    experimental_connect_to_cluster(TFConfigClusterResolver())
    experimental_connect_to_cluster(ClusterSpec({}))
    with pytest.raises(BadTypeError, match="ClusterResolver or a ClusterSpec.*'tpu'"):
        experimental_connect_to_cluster("tpu")
    with pytest.raises(BadArgumentError, match="cluster_device_filters has no meaning"):
        experimental_connect_to_cluster(ClusterSpec({}), cluster_device_filters=[1])


def test_a_cluster_without_a_secret_warns_once_where_it_listens(monkeypatch, caplog):
    spec = ClusterSpec({"worker": ["127.0.0.1:1", "127.0.0.1:2"]})
    for secret, count in (("", 1), ("of the tests, and long enough", 0)):
        monkeypatch.setenv("STRATAX_CLUSTER_SECRET", secret)
        monkeypatch.setattr("stratax.cluster._connection._state", _State())
        caplog.clear()
        for index in (0, 1, 0):
            _warn_of_strangers(membership_of(spec, index))
        assert len(caplog.messages) == count
        assert all(
            re.match("This cluster has no secret: whoever reaches 127.0.0.1:1 ", text)
            for text in caplog.messages
        )


@pytest.mark.programs
@pytest.mark.processes
def test_three_tasks_work_together_and_listen_nowhere_but_at_their_addresses():
    program = (
        TRAIN
        + """
import psutil
train(3)
values = cluster.all_gather("index", str(cluster.process_index).encode() * 3)
value = cluster.broadcast("word", b"chief's" if cluster.is_chief else None)
began = time.perf_counter()
for _ in range(50):
    cluster.barrier("here")
report(milliseconds=(time.perf_counter() - began) * 20)
hosts = [each.laddr.ip for each in psutil.Process().net_connections("inet") if each.status == "LISTEN"]
report(name=cluster.task_name(), values=[text.decode() for text in values], value=value.decode(), hosts=hosts)
report(same=connect(TFConfigClusterResolver()) is cluster)
if cluster.process_index == 2:
    signal.signal(signal.SIGTERM, lambda *_: cluster.request_stop("SIGTERM"))
    signal.raise_signal(signal.SIGTERM)
for step in range(10**6):
    if cluster.agree_on_stop(step):
        break
    with phase("step", step=step):
        add(ones).block_until_ready()
report(step=step, reason=cluster.stop_reason)
try:
    from stratax.cluster import SimpleClusterResolver
    connect(SimpleClusterResolver({"worker": ["a:1", "b:1"]}, task_type="worker", task_id=0))
except ValueError as error:
    report(refused=str(error))
"""
    )
    results = run_tasks(3, program, chief=True, devices=2)
    assert [result.code for result in results] == [0, 0, 0], results
    reports = [result.report for result in results]
    assert [each["name"] for each in reports] == [
        "/job:chief/task:0",
        "/job:worker/task:0",
        "/job:worker/task:1",
    ]
    assert all(each["values"] == ["000", "111", "222"] for each in reports)
    assert all(each["value"] == "chief's" for each in reports)
    assert {host for each in reports for host in each["hosts"]} == {"127.0.0.1"}
    assert all(each["same"] for each in reports)
    assert len({each["step"] for each in reports}) == 1
    assert {each["reason"] for each in reports} == {"SIGTERM"}
    assert all("connected to another cluster already" in each["refused"] for each in reports)


@pytest.mark.processes
def test_tasks_may_start_in_any_order_and_far_apart():
    cluster = addresses(3)
    with no_tasks() as running:
        for place in reversed(places(cluster)):
            start(running, cluster, CONNECT + "report(index=cluster.process_index)", place)
            time.sleep(1.5)
        results = running.wait()
    assert [result.code for result in results] == [0, 0, 0], results
    assert [result.report["index"] for result in results] == [2, 1, 0]


@pytest.mark.processes
@pytest.mark.parametrize("absent", [0, 2])
def test_a_task_that_never_starts_is_named_at_the_deadline(absent, tmp_path):
    cluster = addresses(3)
    program = """
from stratax.cluster import TFConfigClusterResolver, connect
print("READY", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
connect(TFConfigClusterResolver(), timeout=3)
"""
    here = [place for place in places(cluster) if place[1] != absent]
    with no_tasks() as running:
        for place in here:
            running.start(program, environment(cluster, *place), str(tmp_path / "go"))
        for index in range(len(here)):
            running.wait_for(index, "READY")
        (tmp_path / "go").touch()
        results = running.wait()
    for result in results:
        assert result.code == 204, result
        assert re.search(rf"ClusterTimeoutError: .*missing: /job:worker/task:{absent}", result.err), (
            result.err
        )


@pytest.mark.processes
def test_a_program_may_try_again_and_leaves_nothing_of_an_attempt_in_vain():
    program = """
import threading
from stratax.cluster import TFConfigClusterResolver, connect
from stratax.errors import ClusterTimeoutError
for attempt in range(2):
    try:
        connect(TFConfigClusterResolver(), timeout=0.5)
    except ClusterTimeoutError:
        print("TRIED", attempt, flush=True)
cluster = connect(TFConfigClusterResolver())
report(loops=[each.name for each in threading.enumerate()].count("stratax-cluster"))
cluster.barrier("last")
raise KeyError("told once")
"""
    cluster = addresses(2)
    with no_tasks() as running:
        start(running, cluster, program, ("worker", 0))
        running.wait_for(0, "TRIED 1")
        start(running, cluster, CONNECT + "cluster.barrier('last')\ntime.sleep(1000)", ("worker", 1))
        first, second = running.wait()
    assert (first.code, first.report["loops"]) == (1, 1), first
    assert first.err.count("KeyError: 'told once'") == 1
    assert second.code == 201
    assert "/job:worker/task:0 raised KeyError: 'told once'" in second.err


@pytest.mark.processes
def test_two_tasks_with_different_clusters_learn_where_they_differ():
    mine = addresses(2)
    theirs = {"worker": [mine["worker"][0], "127.0.0.1:1"]}
    with no_tasks() as running:
        start(running, mine, CONNECT, ("worker", 0))
        start(running, theirs, CONNECT, ("worker", 1))
        results = running.wait()
    for result in results:
        assert result.code == 78, result
        assert re.search(
            r"/job:worker/task:0 and /job:worker/task:1 were given different clusters: "
            r"cluster\.worker: \[.*\] and \[.*127\.0\.0\.1:1",
            result.err,
        ), result.err
        assert result.seconds < 30


@pytest.mark.processes
def test_a_loopback_address_among_other_machines_is_an_error_at_once():
    cluster = {"worker": ["127.0.0.1:2222", "192.0.2.7:2222"]}
    with no_tasks() as running:
        start(running, cluster, CONNECT.replace("timeout=30", "timeout=1000"), ("worker", 0))
        (result,) = running.wait()
    assert result.code == 78
    assert "/job:worker/task:0 is a loopback address on its own machine" in result.err


@pytest.mark.processes
def test_two_jobs_on_one_port_and_a_port_that_lingers():
    cluster = addresses(2)
    port = int(cluster["worker"][0].split(":")[1])
    slow = CONNECT.replace("timeout=100", "timeout=2")
    with no_tasks() as running, socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        start(running, cluster, slow, ("worker", 0))
        (result,) = running.wait()
        assert result.code == 78
        assert re.search(r"/job:worker/task:0 can't listen on its address .*Another job", result.err), (
            result.err
        )
        # Held for a while yet when the next job starts.
        start(running, cluster, CONNECT, ("worker", 0))
        start(running, cluster, CONNECT, ("worker", 1))
        running.wait_for(1, "trying again")
        other.close()
        results = running.wait()
    assert [result.code for result in results[1:]] == [0, 0], results


@pytest.mark.processes
def test_a_second_process_of_the_same_task_is_refused_and_the_job_goes_on(tmp_path):
    cluster = addresses(2)
    program = """
step = 0
while not cluster.agree_on_stop(step):
    if os.path.exists(sys.argv[1]):
        cluster.request_stop("enough")
    train(1)
    step += 1
    print("TRAINING", flush=True)
"""
    with no_tasks() as running:
        for place in places(cluster):
            running.start(TRAIN + program, environment(cluster, *place), str(tmp_path / "enough"))
        running.wait_for(0, "TRAINING")
        start(running, cluster, CONNECT, ("worker", 1))
        left_over = environment(cluster, "worker", 1, variables={"STRATAX_JOB_ID": "an earlier start"})
        running.start(CONNECT, left_over)
        running.wait(only=[2, 3])
        (tmp_path / "enough").touch()
        results = running.wait()
    assert [result.code for result in results] == [0, 0, 78, 78], results
    assert "two processes were started as the same task" in results[2].err
    assert "belongs to another start of the job" in results[3].err


def _connected(host, port, seconds=60):
    """A connection, made as soon as somebody listens."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((host, port), 5)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.processes
def test_strangers_at_the_port_do_no_harm():
    cluster = addresses(2)
    host, port = "127.0.0.1", int(cluster["worker"][0].split(":")[1])
    garbage = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"STRATAX1" + b"\xff" * 64,
        b"STRATAX1\0\0\0\4\0\0\0\0null",
        b"",
        bytes(10**6),
    ]
    ended = threading.Event()

    def pester():
        number = 0
        while not ended.wait(0.01):
            with contextlib.suppress(OSError), socket.create_connection((host, port), 1) as stranger:
                stranger.sendall(garbage[number % len(garbage)])
                number += 1

    with no_tasks() as running, contextlib.ExitStack() as stack:
        thread = threading.Thread(target=pester)
        thread.start()
        stack.callback(thread.join)
        stack.callback(ended.set)
        start(running, cluster, TRAIN + "train(200)", ("worker", 0))
        silent = [stack.enter_context(_connected(host, port)) for _ in range(20)]
        assert len(silent) == 20
        start(running, cluster, TRAIN + "train(200)", ("worker", 1))
        results = running.wait()
    assert [result.code for result in results] == [0, 0], results
