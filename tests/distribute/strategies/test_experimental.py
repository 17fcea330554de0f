"""`experimental.MultiWorkerMirroredStrategy` has TensorFlow's experimental arguments: communication comes first."""

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
