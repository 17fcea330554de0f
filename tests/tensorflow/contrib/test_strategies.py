"""Strategies of `tf.contrib.distribute` take a number of GPUs, or what later ones take."""

import pytest

import stratax as sx
import stratax.tf as tf

distribute = tf.contrib.distribute


def test_devices_are_named_or_all():
    assert distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).num_replicas_in_sync == 2
    everywhere = distribute.MirroredStrategy().num_replicas_in_sync
    assert everywhere == sx.distribute.MirroredStrategy().num_replicas_in_sync
    reduction = tf.distribute.ReductionToOneDevice()
    assert distribute.MirroredStrategy(["/cpu:0"], cross_tower_ops=reduction).num_replicas_in_sync == 1


def test_gpus_that_are_not_there_are_left_out():
    # As by later names of devices.
    expected = sx.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]).num_replicas_in_sync
    assert distribute.MirroredStrategy(num_gpus=2).num_replicas_in_sync == expected


@pytest.mark.parametrize("made", [lambda: distribute.CollectiveAllReduceStrategy(num_gpus_per_worker=0)])
def test_workers_are_those_of_tf_config(made):
    assert isinstance(made(), sx.distribute.MultiWorkerMirroredStrategy)


def test_reductions_are_chosen_by_name():
    make = tf.contrib.distribute.AllReduceCrossDeviceOps
    assert isinstance(make("hierarchical_copy", num_packs=2), tf.distribute.HierarchicalCopyAllReduce)
    assert isinstance(make("nccl"), tf.distribute.NcclAllReduce)
    assert tf.contrib.distribute.AllReduceCrossTowerOps is make
