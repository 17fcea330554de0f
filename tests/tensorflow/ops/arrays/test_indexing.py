"""Indices and masks that a compiled function can not know, or that are out of range."""

import pytest

import stratax.tf as tf
from stratax.errors import BadTypeError


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.boolean_mask(x, x > 1),
        lambda x: tf.where(x > 1),
        lambda x: tf.sequence_mask(x),
        lambda x: tf.dynamic_partition(x, tf.cast(x, tf.int32), 2),
    ],
)
def test_a_shape_that_depends_on_values_is_refused_in_a_compiled_function(call):
    with pytest.raises(BadTypeError, match="known only when the compiled program runs"):
        tf.function(call)(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize(
    "look_up",
    [
        lambda x, i: tf.gather(x, i),
        lambda x, i: tf.nn.embedding_lookup(x[:, None], i),
        lambda x, i: tf.gather_nd(x, i[:, None]),
        lambda x, i: tf.scatter_nd(i[:, None], [1.0], [2]),
        lambda x, i: tf.tensor_scatter_nd_add(x, i[:, None], [1.0]),
        lambda x, i: tf.Variable(x).sparse_read(i),
        lambda x, i: tf.Variable(x).gather_nd(i[:, None]),
        lambda x, i: tf.Variable(x).scatter_nd_update(i[:, None], [1.0]),
        lambda x, i: tf.Variable(x).scatter_update(tf.IndexedSlices(tf.constant([1.0]), i)),
    ],
)
@pytest.mark.parametrize("index", [2, -1])
def test_indices_out_of_range_raise_where_they_are_known(look_up, index):
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"indices\[0\] = {index} is not in \[0, 2\)"):
        look_up(tf.constant([1.0, 2.0]), tf.constant([index]))
