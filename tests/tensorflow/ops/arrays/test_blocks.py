"""Blocks of pixels become channels, and come back."""

import numpy as np

import stratax.tf as tf


def test_blocks_of_space_become_depth_and_come_back():
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    deep = tf.nn.space_to_depth(image, 2)
    assert np.asarray(deep)[0, 0, 0].tolist() == [0, 1, 4, 5]
    np.testing.assert_array_equal(tf.nn.depth_to_space(deep, 2), image)
