"""Without parameter servers there is nothing to place; with some a program is told."""

import pytest

import stratax.tf.compat.v1 as tf


def test_parameter_servers_are_refused():
    with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec({"worker": ["a:1"]}))):
        assert tf.train.replica_device_setter() is tf.train.replica_device_setter(cluster=None) is None
    for given in ({"cluster": {"ps": ["a:1"], "worker": ["b:1"]}}, {"ps_tasks": 2}):
        with pytest.raises(NotImplementedError, match="do not share variables"):
            tf.train.replica_device_setter(**given)
