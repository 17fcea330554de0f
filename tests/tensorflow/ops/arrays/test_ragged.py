"""Ragged rows in a compiled function: what is refused, by name."""

import pytest

import stratax.tf as tf
from stratax.errors import TracingError


def _ragged():
    return tf.ragged.constant([[1.0, 2.0], [3.0]])


def test_a_mask_of_ragged_rows_is_refused_by_name():
    with pytest.raises(
        TracingError, match="tf.ragged.boolean_mask gives rows whose lengths depend on values"
    ):
        tf.function(lambda rows: tf.ragged.boolean_mask(rows, rows > 1))(_ragged())


@pytest.mark.parametrize("method", ["value_rowids", "bounding_shape"])
def test_a_method_that_needs_lengths_of_rows_says_so(method):
    with pytest.raises(TypeError, match=f"{method} needs the lengths of rows"):
        tf.function(lambda rows: getattr(rows, method)())(_ragged())
