"""Waiting for a checkpoint that is newer than another."""

import stratax.tf as tf

wait = tf.contrib.training.wait_for_new_checkpoint


def test_the_next_checkpoint_is_waited_for(tmp_path):
    folder = str(tmp_path)
    assert wait(folder, timeout=0) is None
    checkpoint = tf.train.Checkpoint(step=tf.Variable(1))
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    first = manager.save()
    assert wait(folder, timeout=0) == first
    assert wait(folder, first, timeout=0) is None
    second = manager.save()
    assert wait(folder, first, timeout=0) == second
