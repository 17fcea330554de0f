"""Operators of arrays: with lists beside them, and what is refused, as TensorFlow 2.21 does."""

import numpy as np
import pytest

import stratax.tf as tf


def whole():
    return tf.constant([1, 2])


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x: x + [1, 2], [2, 4]),  # noqa: RUF005
        (lambda x: (1, 3) + x, [2, 5]),  # noqa: RUF005
        (lambda x: [1, 3] - x, [0, 1]),
        (lambda x: x * (1, 2), [1, 4]),
        (lambda x: x // [1, 3], [1, 0]),
        (lambda x: x % [1, 3], [0, 2]),
        (lambda x: x ** [1, 3], [1, 8]),
        (lambda x: x < [2, 2], [True, False]),
        (lambda x: x >= [2, 1], [False, True]),
        (lambda x: x == [1, 3], [True, False]),
        (lambda x: x != [1, 3], [False, True]),
        (lambda x: x + [tf.constant(1), tf.constant(2)], [2, 4]),  # noqa: RUF005
        (lambda x: x[None] @ [[1], [2]], [[5]]),
        (lambda x: [[1, 0], [2, 1]] @ x[:, None], [[1], [4]]),
        (lambda x: tf.cast(x, tf.float32) / [1, 4], [1.0, 0.5]),
        (lambda x: (x > 1) & [True, True], [False, True]),
    ],
)
def test_a_list_beside_an_array_is_an_array_of_its_dtype(compute, expected):
    for run in (compute, tf.function(compute)):
        result = run(whole())
        assert result.tolist() == expected
        assert (
            result.dtype
            == np.asarray(expected)
            .astype({"i": "int32", "f": "float32", "b": "bool"}[np.asarray(expected).dtype.kind])
            .dtype
        )


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x + tf.ones([3]),
        lambda x: tf.ones([3]) - x,
        lambda x: x < [1.0, 2.0, 3.0],
        lambda x: x @ tf.ones([3]),
    ],
)
def test_shapes_that_do_not_fit_are_a_wrong_argument(compute):
    for run in (compute, tf.function(compute)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[\d\] vs\. \[\d\]"):
            run(tf.constant([1.0, 2.0]))


def test_arrays_of_shapes_that_do_not_fit_are_not_equal():
    assert not bool(whole() == tf.constant([1, 2, 3]))
    assert bool(whole() != tf.constant([1, 2, 3]))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x // 0,
        lambda x: x % 0,
        lambda x: x // tf.constant([0, 1]),
        lambda x: 4 // (x - 1),
        lambda x: 4 % (x - 1),
        lambda x: x % np.array([0, 1], np.int32),
        lambda x: x // [1, 0],
    ],
)
def test_a_division_of_whole_numbers_by_zero_raises(compute):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        compute(whole())


def test_what_is_divided_by_zero_in_a_compiled_function_is_not_known():
    tf.function(lambda x, y: x // y)(whole(), tf.constant([0, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        tf.function(lambda x: x // 0)(whole())


def test_fractions_are_divided_by_zero():
    x = tf.constant([4.0])
    assert (x // 0).tolist() == (x // 0.0).tolist() == [np.inf]
    assert np.isnan(x % 0).all()


MATRIX = np.arange(6.0, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("take", "message"),
    [
        (lambda x: x[2], "slice index 2 of dimension 0 out of bounds"),
        (lambda x: x[-3], "slice index -3 of dimension 0"),
        (lambda x: x[0, 3], "slice index 3 of dimension 1"),
        (lambda x: x[..., 3], "slice index 3 of dimension 1"),
        (lambda x: x[None, :, None, 5], "slice index 5 of dimension 1"),
        (lambda x: x[np.int64(2)], "slice index 2 of dimension 0"),
        (lambda x: x[tf.constant([True, False]), 3], "slice index 3 of dimension 1"),
        (lambda x: x[0, 0, 0], "Index out of range using input dim 2; input has only 2 dims"),
        (lambda x: x[::0], r"strides\[0\] must be non-zero"),
    ],
)
def test_an_index_out_of_range_raises(take, message):
    for run in (take, tf.function(take)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(tf.constant(MATRIX))


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1, -3],
        np.s_[..., -1, None],
        np.s_[None, ..., 2],
        np.s_[0:9, ::2],
        np.s_[np.array([True, False])],
        np.s_[:, np.array([0, 2])],
        np.s_[()],
        np.s_[True],
    ],
)
def test_other_indices_are_numpys(index):
    np.testing.assert_array_equal(tf.constant(MATRIX)[index], MATRIX[index])


def test_a_list_of_indices_is_one_for_each_dimension():
    assert float(tf.constant(MATRIX)[[1, 2]]) == 5.0


def test_an_index_on_a_device_is_looked_at_where_it_is_known_or_given():
    index = tf.constant(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 2 of dimension 0"):
        tf.constant(MATRIX)[index]
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 2 of dimension 0"):
        tf.function(lambda x, i: x[i])(tf.constant(MATRIX), index)
    # Of what it computes itself, a compiled program takes the nearest.
    assert tf.function(lambda x, i: x[i * i])(tf.constant(MATRIX), index).tolist() == MATRIX[1].tolist()
