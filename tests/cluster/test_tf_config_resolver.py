"""The resolver of TF_CONFIG."""

import pytest

from stratax.cluster import ClusterSpec, TFConfigClusterResolver
from stratax.errors import ClusterError

CONFIG = '{"cluster": {"worker": ["a:1", "b:1"], "ps": ["p:1"]}, "task": {"type": "worker", "index": 1}}'


def test_it_answers_as_tensorflows_does(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    resolver = TFConfigClusterResolver()
    assert resolver.cluster_spec() == ClusterSpec({"worker": ["a:1", "b:1"], "ps": ["p:1"]})
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer, resolver.environment) == (
        "worker",
        1,
        "grpc",
        "",
    )
    assert resolver.master() == "grpc://b:1"
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
    with pytest.raises(ClusterError, match=r"task.index is out of range.*task.index=5"):
        TFConfigClusterResolver(task_id=5)


def test_it_notices_that_tf_config_was_changed(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    resolver = TFConfigClusterResolver()
    monkeypatch.setenv("TF_CONFIG", "")
    assert resolver.has_changed


def test_only_its_own_accelerators_can_be_counted(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    with pytest.raises(ClusterError, match=r"own accelerators only.*task_type='ps'"):
        TFConfigClusterResolver().num_accelerators("ps", 0)
