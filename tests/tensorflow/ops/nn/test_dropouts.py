"""Dropout drops about its share and scales the rest."""

import numpy as np

import stratax.tf as tf


def test_dropout_drops_about_its_share_and_scales_the_rest():
    tf.random.set_seed(1)
    dropped = np.asarray(tf.nn.dropout(tf.ones([100, 100]), rate=0.25))
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(np.mean(dropped == 0) - 0.25) < 0.03
    rows = np.asarray(tf.nn.dropout(tf.ones([50, 3]), rate=0.5, noise_shape=[50, 1]))
    assert np.all(rows.min(1) == rows.max(1))
