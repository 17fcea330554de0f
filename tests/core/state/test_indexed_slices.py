"""Indexed slices: rows of a gradient, and the tensor that they are."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


def test_indexed_slices_become_tensors():
    slices = tf.IndexedSlices(tf.constant([10.0, 20.0]), tf.constant([0, 0]), tf.constant([3]))
    assert tf.convert_to_tensor(slices).tolist() == [30.0, 0.0, 0.0]
    assert (tf.reduce_sum(-slices).item(), slices.shape, slices.dtype) == (-30.0, (3,), "float32")
    assert tf.function(lambda each: each.values * 2.0)(slices).tolist() == [20.0, 40.0]
    assert np.asarray(slices).tolist() == [30.0, 0.0, 0.0]
    assert repr(slices).startswith("IndexedSlices(indices=[0 0], values=")
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(tf.IndexedSlices(slices.values, slices.indices))


def test_rows_of_something_else_are_refused():
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(errors.BadTypeError, match=r"Expected: tf\.IndexedSlices"):
        v.scatter_add([1.0])
    with pytest.raises(errors.BadTypeError, match="Positions are whole numbers"):
        v.gather_nd(0.5)
