"""Wrong shapes and types are said."""

import pytest

import stratax.tf as tf


def test_symbolic_tensors_of_keras_have_no_values():
    with pytest.raises(TypeError, match=r"symbolic tensor of Keras.*`call` of a layer"):
        tf.debugging.assert_positive(tf.keras.Input([2]))
    tf.debugging.assert_rank(tf.keras.Input([2]), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tf.debugging.assert_rank(tf.ones([2]), 2, "m"),
            r"^m\. Tensor must have rank 2\. .* shape \(2,\)",
        ),
        (lambda: tf.debugging.assert_rank(tf.ones([2]), 1.5), r"Rank must be a scalar.*rank=1\.5"),
        (lambda: tf.debugging.assert_rank_at_least(1.0, 1), "rank at least 1. Received rank 0"),
        (lambda: tf.debugging.assert_rank_in(1.0, (1, 2)), r"rank in \(1, 2\)"),
        (lambda: tf.debugging.assert_scalar([1.0], "m"), r"m\. Expected scalar shape, saw shape: \(1,\)"),
        (
            lambda: tf.debugging.assert_shapes([(tf.ones([2, 3]), "NQ"), (tf.ones([4]), "Q")], message="m"),
            r"m\. Dimension 0 must have size 3, specified by dimension 1 of a tensor of shape \(2, 3\).*size 4",
        ),
        (lambda: tf.debugging.assert_shapes([(tf.ones([2]), (3,))]), "size 3, specified explicitly"),
        (lambda: tf.debugging.assert_shapes([(tf.ones([2]), (1, ...))]), "only allowed as the first entry"),
        (lambda: tf.debugging.assert_shapes([(tf.ones([2]), 1)]), "must be an iterable"),
    ],
)
def test_a_wrong_shape_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tf.debugging.assert_type([1.0], tf.int32, "m"),
            r"m\. tensor must be of type int32; got float",
        ),
        (lambda: tf.debugging.assert_integer([1.0]), 'Expected "x" to be integer type'),
        (lambda: tf.debugging.assert_proper_iterable("a"), 'to be a "proper" iterable'),
        (lambda: tf.debugging.check_numerics([1], "m"), "Only floating point numbers"),
    ],
)
def test_a_wrong_type_is_said(call, message):
    with pytest.raises(TypeError, match=message):
        call()
