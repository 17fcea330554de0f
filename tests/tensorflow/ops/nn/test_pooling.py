"""Windows of images are reduced."""

import numpy as np

import stratax.tf as tf


def test_the_largest_and_the_mean_of_each_window():
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    largest = np.asarray(tf.nn.max_pool2d(image, 2, 2, "VALID"))
    assert largest.ravel().tolist() == [5, 7, 13, 15]
    assert np.asarray(tf.nn.avg_pool2d(image, 2, 2, "VALID")).ravel().tolist() == [2.5, 4.5, 10.5, 12.5]
