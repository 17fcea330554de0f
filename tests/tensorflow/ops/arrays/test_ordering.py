"""Values in order, and where they were."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf


def test_values_are_sorted_and_found_again():
    values = np.float32([3, 1, 2])
    assert np.asarray(tf.sort(values, direction="DESCENDING")).tolist() == [3, 2, 1]
    assert np.asarray(tf.argsort(values)).tolist() == [1, 2, 0]
    found, order = tf.math.top_k(values, 2)
    assert (np.asarray(found).tolist(), np.asarray(order).tolist()) == ([3, 2], [0, 2])


def test_values_are_counted_once_each():
    values, ids = tf.unique(np.int32([7, 4, 7]))
    assert (np.asarray(values).tolist(), np.asarray(ids).tolist()) == ([7, 4], [0, 1, 0])


@pytest.mark.parametrize("library", [np, jnp])
def test_nan_is_looked_for_as_in_tensorflow(library):
    sequence, wanted = library.asarray([1.0, 3.0]), library.asarray([float("nan"), 2.0])
    assert tf.searchsorted(sequence, wanted).tolist() == [0, 1]
    assert tf.searchsorted(sequence, wanted, side="right").tolist() == [2, 1]
