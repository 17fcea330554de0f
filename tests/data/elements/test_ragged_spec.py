"""The spec of ragged elements."""

import numpy as np
import pytest

import stratax.tf as tf


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.RaggedTensorSpec(None),
        lambda: tf.RaggedTensorSpec([None, 2], ragged_rank=2),
    ],
)
def test_a_ragged_spec_needs_a_ragged_rank_below_its_rank(make):
    with pytest.raises(ValueError, match="ragged_rank that is less than the rank"):
        make()


def test_specs_print_and_compare_as_tensorflows():
    sparse, ragged = tf.SparseTensorSpec([None, 4], tf.int64), tf.RaggedTensorSpec([2, None], tf.string)
    assert repr(sparse) == "SparseTensorSpec(TensorShape([None, 4]), tf.int64)"
    assert repr(ragged) == "RaggedTensorSpec(TensorShape([2, None]), tf.string, 1, tf.int64)"
    assert sparse == tf.SparseTensorSpec((None, 4), "int64") != tf.SparseTensorSpec((3, 4), "int64")
    assert ragged != tf.RaggedTensorSpec([2, None], tf.string, row_splits_dtype=tf.int32)
    assert sparse.is_compatible_with(tf.SparseTensor([[0, 1]], np.array([3]), [2, 4]))
    assert not sparse.is_compatible_with(tf.SparseTensor([[0, 1]], np.array([3]), [2, 5]))
    assert not ragged.is_compatible_with(sparse)
    assert len({sparse, ragged, tf.SparseTensorSpec((None, 4), "int64")}) == 2
