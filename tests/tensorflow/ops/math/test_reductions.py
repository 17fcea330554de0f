"""Reductions agree on host and device."""

import pytest

import stratax.tf as tf
from stratax.errors import TracingError
from tests.tensorflow.ops.arrays.test_arrays import REDUCTIONS, X, check_both


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("axis", "keepdims"), [(None, False), (1, True), ([0, 1], False), (-1, False)])
def test_reductions_agree_on_host_and_device(name, axis, keepdims):
    if name == "reduce_logsumexp" and axis == [0, 1]:
        axis = [1]
    check_both(lambda x: getattr(tf.math, name)(x, axis, keepdims), X)


def _ragged():
    return tf.ragged.constant([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    ("function", "expected"), [(tf.reduce_sum, 6.0), (tf.reduce_max, 3.0), (tf.reduce_mean, 2.0)]
)
def test_a_compiled_function_reduces_ragged_rows(function, expected):
    assert tf.function(function)(_ragged()) == expected


def test_what_needs_the_lengths_of_ragged_rows_says_that_it_computes_on_the_host():
    with pytest.raises(TracingError, match="of a RaggedTensor computes on the host"):
        tf.function(lambda rows: tf.concat([rows, rows], 1))(_ragged())
