"""Convolutions with kernels whose results are plain."""

import numpy as np

import stratax.tf as tf


def test_a_kernel_of_ones_adds_up_its_window():
    image = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    found = np.asarray(tf.nn.conv2d(image, np.ones((2, 2, 1, 1), np.float32), 1, "VALID"))
    assert found.ravel().tolist() == [8, 12, 20, 24]


def test_each_channel_has_a_kernel_of_its_own():
    image = np.ones((1, 2, 2, 2), np.float32)
    kernel = np.float32([2, 3]).reshape(1, 1, 2, 1)
    found = np.asarray(tf.nn.depthwise_conv2d(image, kernel, [1, 1, 1, 1], "SAME"))
    assert found[0, 0, 0].tolist() == [2, 3]
