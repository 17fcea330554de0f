"""The resolver of TF_CONFIG."""

import json

import pytest

from stratax.cluster import ClusterSpec, TFConfigClusterResolver, connect
from stratax.errors import ClusterError

CONFIG = '{"cluster": {"worker": ["a:1", "b:1"], "ps": ["p:1"]}, "task": {"type": "worker", "index": 1}}'


def test_it_answers_as_tensorflows_does(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    resolver = TFConfigClusterResolver()
    assert resolver.cluster_spec() == ClusterSpec({"worker": ["a:1", "b:1"], "ps": ["p:1"]})
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer, resolver.environment) == (
        "worker",
        1,
        None,
        None,
    )
    assert resolver.master() == "b:1"
    assert resolver.master("ps", 0, rpc_layer="http") == "http://p:1"
    assert resolver.num_accelerators() == {}
    assert not resolver.has_changed


def test_without_tf_config_this_process_is_alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    resolver = TFConfigClusterResolver()
    assert (resolver.cluster_spec(), resolver.task_type, resolver.task_id) == (ClusterSpec({}), None, None)
    assert resolver.master() == ""


def test_arguments_win(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    resolver = TFConfigClusterResolver("ps", 0, rpc_layer="http", environment="mine")
    assert (resolver.task_type, resolver.task_id, resolver.master()) == ("ps", 0, "http://p:1")
    assert resolver.environment == "mine"
    with pytest.raises(ClusterError, match=r"TF_CONFIG: task.index is out of range.*task.index=5"):
        connect(TFConfigClusterResolver(task_id=5))


# What TensorFlow 2.21's resolver gives for each.
@pytest.mark.parametrize(
    ("cluster", "task", "master"),
    [
        ({"worker": ["host1:port", "host2:port"], "ps": ["host4:port"]}, ("worker", 1), "host2:port"),
        ({"worker": ["h"]}, ("worker", 0), ""),
        ({"worker": ["h", "i:0"]}, ("worker", 0), "h"),
        ({"worker": ["h", "i:0"]}, ("worker", 1), "i:0"),
        ({"worker": ["h 1:2", ":"]}, ("worker", 0), "h 1:2"),
        ({"worker": ["grpc://h:1", ""]}, ("worker", 0), "grpc://h:1"),
        ({"trainer": ["h:1", "h:2"]}, ("trainer", 0), "h:1"),
        ({"worker": ["h:1", "h:1"]}, ("worker", 1), "h:1"),
        ({"worker": ["h:1"]}, ("worker", None), ""),
        ({"worker": ["h:1"]}, (None, None), ""),
        ({}, ("worker", 0), ""),
    ],
)
def test_nothing_is_looked_at_before_it_connects(cluster, task, master, monkeypatch):
    text = json.dumps({"cluster": cluster, "task": dict(zip(("type", "index"), task, strict=True))})
    monkeypatch.setenv("TF_CONFIG", text)
    resolver = TFConfigClusterResolver()
    assert resolver.cluster_spec().as_dict() == cluster
    assert (resolver.task_type, resolver.task_id, resolver.master()) == (*task, master)


def test_it_notices_that_tf_config_was_changed(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    resolver = TFConfigClusterResolver()
    monkeypatch.setenv("TF_CONFIG", "")
    assert resolver.has_changed


def test_only_its_own_accelerators_can_be_counted(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    with pytest.raises(ClusterError, match=r"own accelerators only.*task_type='ps'"):
        TFConfigClusterResolver().num_accelerators("ps", 0)


def test_where_sessions_are_comes_before_addresses(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG[:-1] + ', "session_master": "grpc://s:1", "rpc_layer": "grpc"}')
    assert TFConfigClusterResolver().master() == "grpc://s:1"
    monkeypatch.setenv("TF_CONFIG", CONFIG[:-1] + ', "rpc_layer": "grpc"}')
    assert TFConfigClusterResolver().master() == "grpc://b:1"
