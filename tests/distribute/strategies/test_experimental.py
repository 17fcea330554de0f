"""What `tf.distribute.experimental` has under the arguments of TensorFlow 2.0: workers, parameter servers."""

import json

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf

experimental = tf.distribute.experimental


def test_the_communication_is_the_first_argument():
    strategy = experimental.MultiWorkerMirroredStrategy(experimental.CollectiveCommunication.RING)
    assert isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    assert isinstance(strategy.cross_device_ops, sx.distribute.RingAllReduce)
    assert strategy.num_workers == 1


def test_nccl_without_gpus_says_what_is_used_instead():
    with pytest.warns(RuntimeWarning, match="NCCL was asked for and there are no GPUs"):
        strategy = experimental.MultiWorkerMirroredStrategy(experimental.CollectiveCommunication.NCCL)
    assert isinstance(strategy.cross_device_ops, sx.distribute.NcclAllReduce)


def test_the_resolver_is_the_second():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    for strategy in (
        experimental.MultiWorkerMirroredStrategy("AUTO", resolver),
        experimental.MultiWorkerMirroredStrategy(cluster_resolver=resolver),
    ):
        assert strategy.cluster_resolver is resolver


def test_wrong_arguments_name_the_right_ones():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    with pytest.raises(TypeError, match="first argument.*is `communication`"):
        experimental.MultiWorkerMirroredStrategy(resolver)
    with pytest.raises(ValueError, match="implementation must be one of"):
        experimental.MultiWorkerMirroredStrategy("gloo")
    with pytest.raises(TypeError, match="cluster_resolver must be a.*communication_options="):
        tf.distribute.MultiWorkerMirroredStrategy(experimental.CollectiveCommunication.NCCL)


@pytest.mark.parametrize(
    "name", [experimental, tf.compat.v1.distribute.experimental], ids=["experimental", "compat.v1"]
)
def test_parameter_servers_without_a_cluster_are_this_machine(name, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    strategy = name.ParameterServerStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    assert model.fit(np.ones((8, 1)), np.ones((8, 1)), verbose=0).history["loss"]
    assert strategy.num_replicas_in_sync == 8
    assert isinstance(strategy, experimental.CentralStorageStrategy)


def test_parameter_servers_without_arguments_are_those_of_tf_config(monkeypatch):
    tasks = {"worker": ["127.0.0.1:1", "127.0.0.1:2"], "ps": ["127.0.0.1:3"]}
    config = {"cluster": tasks, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    strategy = experimental.ParameterServerStrategy()
    assert isinstance(strategy, tf.compat.v1.distribute.experimental.ParameterServerStrategy)
    assert strategy.cluster_resolver.cluster_spec() == tasks
    assert not strategy.extended.membership.is_chief


def test_parameter_servers_check_what_nobody_has_looked_at(monkeypatch):
    config = {
        "cluster": {"worker": ["host1:port"], "ps": ["host4:port"]},
        "task": {"type": "worker", "index": 0},
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    for arguments in ((), (resolver,)):
        with pytest.raises(ValueError, match=r"TF_CONFIG: the port of cluster.worker\[0\] must be a number"):
            experimental.ParameterServerStrategy(*arguments)


def test_parameter_servers_with_a_resolver_are_those_of_today():
    with pytest.raises(TypeError, match="ParameterServerStrategy expects a cluster resolver"):
        experimental.ParameterServerStrategy("local")
    with pytest.raises(TypeError, match="variable_partitioner needs a cluster_resolver"):
        experimental.ParameterServerStrategy(variable_partitioner=lambda shape, dtype: 1)
    assert issubclass(experimental.ParameterServerStrategy, tf.distribute.ParameterServerStrategy)
