"""Text is code points and code points are text."""

import numpy as np

import stratax.tf as tf


def test_code_points_of_a_text_and_back():
    points = tf.strings.unicode_decode("aé", "UTF-8")
    assert np.asarray(points).tolist() == [97, 233]
    assert np.asarray(tf.strings.unicode_encode(points, "UTF-8")).item() == "aé".encode()
