"""TF_CONFIG: what is right, and a sentence of its own for every way to be wrong."""

import json
import logging
import re

import pytest

from stratax.cluster import ClusterSpec, TFConfigClusterResolver, connect, parse_tf_config
from stratax.errors import ClusterError

TWO = {"worker": ["a:1", "b:1"]}
FIRST = {"type": "worker", "index": 0}


def config(cluster=TWO, task=FIRST, **fields):
    return json.dumps({"cluster": cluster, "task": task, **fields})


# What can't be read.
BROKEN = {
    "no JSON": ('{"cluster": {"worker": ["a:1",]}}', r"not valid JSON at line 1, column 3\d .*near="),
    "cut off": ('{"cluster": ', r"not valid JSON at line 1"),
    "no object": ("[1]", r"must be a JSON object with the fields 'cluster' and 'task'.*TF_CONFIG=\[1\]"),
    "a key twice": ('{"task": {}, "task": {}}', r"stands twice.*key='task'"),
    "a misspelt field": (json.dumps({"clusters": TWO}), "no field 'clusters'; 'cluster' must be meant"),
    "a cluster that is a list": (config(["a:1"]), r"cluster must be an object.*cluster=\['a:1'\]"),
    "a job that is a string": (
        config({"worker": "a:1"}),
        "cluster.worker must be a list.*cluster.worker='a:1'",
    ),
    "an address that is a number": (config({"worker": [1]}), r"cluster.worker\[0\] must be a string.*=1"),
    "an address that is nothing": (
        config({"worker": ["a:1", None]}),
        r"cluster.worker\[1\] must be a string.*None",
    ),
    "a chief and a master": (config({"chief": ["c:1"], "master": ["d:1"]}), "both a master and a chief"),
    "a service that is a list": (config(service=[1]), r"service must be an object.*service=\[1\]"),
    "a folder without a name": (config(model_dir=""), "model_dir must not be empty"),
    "a number that is none": (
        config({"worker": {"one": "a:1"}}),
        "number of a task in cluster.worker.*'one'",
    ),
    "a number twice": (
        config({"worker": {"0": "a:1", "00": "b:1"}}),
        "worker is numbered twice.*'00': 'b:1'",
    ),
    "a number without end": (config({"worker": {"1" * 5000: "a:1"}}), "must be an integer.*'1111"),
    "a nest without end": ("[" * 100_000, r"nested too deeply.*its beginning='\[\["),
    "a negative number": (config({"worker": {"-1": "a:1"}}), "cluster.worker must be 0 or more.*'-1'"),
    "a task that is a string": (config(task="worker"), "task must be an object.*task='worker'"),
    "a type that is a number": (config(task={"type": 1, "index": 0}), "task.type must be a string.*1"),
    "an index that is a fraction": (config(task={"type": "worker", "index": 0.5}), "must be an integer.*0.5"),
    "an index that is a truth": (config(task={"type": "worker", "index": True}), "must be an integer.*True"),
    "an index that is negative": (config(task={"type": "worker", "index": -1}), "0 or more.*task.index=-1"),
    "a protocol that is a number": (config(rpc_layer=1), "rpc_layer must be a string.*1"),
    "an environment that is a list": (config(environment=[]), r"environment must be a string.*\[\]"),
}
# What is read, as TensorFlow reads it, and can't be connected to.
WRONG = {
    "a misspelt job": (config({"workers": ["a:1"]}), "unknown job.*'worker' must be meant.*job='workers'"),
    "an unknown job": (config({"trainer": ["a:1"]}), "unknown job; the jobs are 'chief'.*job='trainer'"),
    "an empty job": (config({**TWO, "ps": []}), "cluster.ps is empty"),
    "an address without a port": (config({"worker": ["a"]}), r"cluster.worker\[0\] must be.*no port.*'a'"),
    "an IPv6 address without brackets": (config({"worker": ["::1:80"]}), r"IPv6 hosts in brackets.*'::1:80'"),
    "an address without a host": (config({"worker": [":80"]}), r"host is empty or has a space.*':80'"),
    "an address with a space": (config({"worker": ["a :80"]}), r"host is empty or has a space.*'a :80'"),
    "an address with a protocol": (config({"worker": ["grpc://a:1"]}), "without a protocol.*'grpc://a:1'"),
    "a port that is a word": (config({"worker": ["a:http"]}), "from 1 to 65535.*'a:http'"),
    "a port that is zero": (config({"worker": ["a:0"]}), "from 1 to 65535.*'a:0'"),
    "a port that is too large": (config({"worker": ["a:65536"]}), "from 1 to 65535.*'a:65536'"),
    "an address twice": (
        config({"worker": ["a:1", "b:1", "a:1"]}),
        r"cluster.worker\[0\] and cluster.worker\[2\] have the same address.*cluster.worker\[2\]='a:1'",
    ),
    "a chief among the workers": (
        config({"chief": ["a:1"], **TWO}),
        r"cluster.chief\[0\] and cluster.worker\[0\] have the same.*chief is a task of its own",
    ),
    "two chiefs": (
        config({"chief": ["c:1", "d:1"], **TWO}),
        r"there is one chief.*cluster.chief=\['c:1', 'd:1'\]",
    ),
    "nobody who trains": (config({"ps": ["a:1"]}), "neither a chief nor a worker.*cluster.jobs="),
    "a port without end": (config({"worker": ["a:" + "1" * 5000]}), "from 1 to 65535.*'a:1111"),
    "a host with an empty part": (
        config({"worker": ["a..b:1"]}),
        r"host of cluster.worker\[0\] can't be a name",
    ),
    "no task": (json.dumps({"cluster": TWO}), "task is missing.*Expected something like"),
    "no type": (config(task={"index": 0}), "task.type is missing"),
    "an unknown type": (config(task={"type": "boss", "index": 0}), "task.type must be one of.*'boss'"),
    "a type that is not there": (config(task={"type": "ps", "index": 0}), "cluster has only 'worker'.*'ps'"),
    "a chief that is worker 0": (
        config(task={"type": "chief", "index": 0}),
        "task.type is 'chief' but cluster has none; without one, worker 0 is the chief",
    ),
    "no index": (config(task={"type": "worker"}), "task.index is missing"),
    "an index out of range": (
        config(task={"type": "worker", "index": 2}),
        r"task.index is out of range: cluster.worker has 2 task\(s\), numbers \[0, 1\].*task.index=2",
    ),
    "a task of no cluster": (json.dumps({"task": {"type": "worker", "index": 1}}), "a task but no cluster"),
}


def read(text):
    with pytest.raises(ClusterError) as caught:
        parse_tf_config(text)
    return str(caught.value)


def connect_with(text, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", text)
    resolver = TFConfigClusterResolver()
    with pytest.raises(ClusterError) as caught:
        connect(resolver)
    return str(caught.value)


@pytest.mark.parametrize("mistake", BROKEN)
def test_what_cannot_be_read_has_a_sentence_of_its_own(mistake):
    text, message = BROKEN[mistake]
    assert re.search(f"^TF_CONFIG: .*{message}", read(text))


@pytest.mark.parametrize("mistake", WRONG)
def test_what_cannot_be_connected_to_is_read_and_has_a_sentence_of_its_own(mistake, monkeypatch):
    text, message = WRONG[mistake]
    assert re.search(f"^TF_CONFIG: .*{message}", connect_with(text, monkeypatch))


def test_no_two_mistakes_share_a_sentence(monkeypatch):
    sentences = [read(text) for text, _ in BROKEN.values()]
    sentences += [connect_with(text, monkeypatch) for text, _ in WRONG.values()]
    assert len(set(sentences)) == len(BROKEN) + len(WRONG)
    assert all("Received: " in sentence for sentence in sentences)


def test_what_is_right_is_read():
    found = parse_tf_config(
        config(task={"type": "worker", "index": "1"}, rpc_layer="grpc", environment="cloud")
    )
    assert (found.cluster, found.task_type, found.task_id) == (ClusterSpec(TWO), "worker", 1)
    assert (found.rpc_layer, found.environment) == ("grpc", "cloud")


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"environment": "cloud"}'])
def test_without_a_cluster_a_process_is_alone(text):
    found = parse_tf_config(text)
    assert (found.cluster, found.task_type, found.task_id) == (ClusterSpec({}), None, None)


def test_a_task_without_a_cluster_is_alone_if_it_is_the_first():
    assert parse_tf_config('{"task": {"type": "worker", "index": 0}}').task_id == 0


def test_sparse_clusters_all_jobs_and_ipv6_are_taken():
    cluster = {"chief": ["[::1]:1"], "worker": {"3": "b:1", "7": "c:1"}, "ps": ["d:1"], "evaluator": ["e:1"]}
    found = parse_tf_config(config(cluster, {"type": "worker", "index": 7}))
    assert found.cluster.task_indices("worker") == [3, 7]
    assert found.cluster.job_tasks("chief") == ["[::1]:1"]


def test_an_evaluator_need_not_stand_in_the_cluster():
    assert parse_tf_config(config(task={"type": "evaluator", "index": 0})).task_type == "evaluator"


def test_tensorflow_1s_master_is_the_chief(caplog):
    with caplog.at_level(logging.INFO, "stratax"):
        found = parse_tf_config(config({"master": ["m:1"], **TWO}, {"type": "master", "index": 0}))
    assert (found.task_type, found.cluster.job_tasks("chief")) == ("chief", ["m:1"])
    assert "'master' is taken as the chief" in caplog.text


def test_an_unknown_field_is_noted_and_ignored(caplog):
    with caplog.at_level(logging.INFO, "stratax"):
        assert parse_tf_config(config(region="here")).task_id == 0
    assert "'region' is not used" in caplog.text
