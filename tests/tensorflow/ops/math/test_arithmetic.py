"""Divisions, each with its own meaning."""

import numpy as np

import stratax.tf as tf


def test_divisions_round_as_their_names_say():
    assert np.asarray(tf.math.floordiv(np.int32([-7]), np.int32([2]))).tolist() == [-4]
    assert np.asarray(tf.truncatediv(np.int32([-7]), np.int32([2]))).tolist() == [-3]
    assert np.asarray(tf.math.divide_no_nan(np.float32([1]), np.float32([0]))).tolist() == [0]
