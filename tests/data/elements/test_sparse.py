"""SparseTensors made dense."""

import numpy as np
import pytest

from stratax.data import SparseTensor, sparse_to_dense
from stratax.errors import BadArgumentError, BadTypeError


def sparse(indices, values, shape):
    return SparseTensor(
        np.array(indices, np.int64).reshape(-1, len(shape)), np.array(values), np.array(shape)
    )


def test_values_stand_where_their_indices_say():
    dense = sparse_to_dense(sparse([[0, 1], [1, 2]], [5, 6], (2, 3)))
    np.testing.assert_array_equal(dense, [[0, 5, 0], [0, 0, 6]])
    np.testing.assert_array_equal(sparse_to_dense(sparse([[1]], [5.0], (2,)), default_value=-1), [-1, 5])


def test_strings_are_filled_up_with_empty_ones():
    found = sparse_to_dense(SparseTensor(np.array([[1]]), np.array([b"a\0"], object), np.array([2])))
    assert found.tolist() == [b"", b"a\0"]
    assert sparse_to_dense(sparse([[1]], [b"a"], (2,))).tolist() == [b"", b"a"]


def test_none_at_all():
    assert sparse_to_dense(sparse([], [], (2, 0))).shape == (2, 0)


def test_shape_and_dtype():
    found = sparse([[0, 1]], np.array([5], np.float32), (2, 3))
    assert found.shape == (2, 3)
    assert found.dtype == np.float32


def test_indices_that_can_not_be_are_refused():
    with pytest.raises(
        BadArgumentError, match=r"within its shape. Expected: 0 <= index < \(1, 2\).*\[0\]=\[0, 5\]"
    ):
        sparse_to_dense(sparse([[0, 5]], [1], (1, 2)))
    with pytest.raises(BadArgumentError, match=r"row-major order.*indices\[1\]=\[0, 0\] after \[0, 1\]"):
        sparse_to_dense(sparse([[0, 1], [0, 0]], [1, 2], (1, 2)))
    with pytest.raises(BadArgumentError, match="different from one another"):
        sparse_to_dense(sparse([[0, 1], [0, 1]], [1, 2], (1, 2)))
    assert sparse_to_dense(sparse([[0, 1], [0, 1]], [1, 2], (1, 2)), validate_indices=False).tolist() == [
        [0, 2]
    ]


@pytest.mark.parametrize(
    ("indices", "values", "shape"),
    [
        ([[0], [1]], [1], [3]),
        ([[0, 1]], [1], [3]),
        ([[0, 1]], [1, 2], [3]),
        ([[0]], [[1]], [3]),
        ([0], [1], [3]),
        ([], [], [-2]),
        ([], [], []),
    ],
)
def test_parts_that_do_not_agree_are_refused(indices, values, shape):
    with pytest.raises(BadArgumentError, match="a row of indices for each value.*Received: indices of shape"):
        sparse_to_dense(SparseTensor(np.array(indices), np.array(values, np.int64), np.array(shape)))


@pytest.mark.parametrize(
    ("values", "default"),
    [([1], 1.5), ([1], b"a"), ([1], [0, 0]), ([b"a"], 0), (np.array([1], np.uint8), 300)],
)
def test_a_default_of_another_dtype_is_refused(values, default):
    with pytest.raises(BadTypeError, match="one value of the dtype of the SparseTensor.*default_value="):
        sparse_to_dense(sparse([[1]], values, (2,)), default_value=default)


def test_a_default_is_one_value_of_the_dtype():
    assert sparse_to_dense(sparse([[1]], [2.5], (2,)), default_value=0.5).tolist() == [0.5, 2.5]
    assert np.isnan(sparse_to_dense(sparse([[1]], [2.5], (2,)), default_value=np.nan)[0])
    assert sparse_to_dense(sparse([[1]], np.array([3], np.uint8), (2,)), default_value=7).tolist() == [7, 3]
    assert sparse_to_dense(sparse([[1]], ["ä"], (2,)), default_value="b").tolist() == [b"b", "ä".encode()]


def test_something_else_is_refused():
    with pytest.raises(BadTypeError, match="takes a SparseTensor. Received: sp_input=3"):
        sparse_to_dense(3)


# The numbers are TensorFlow's.
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda s: s * 2.0, [2, 4]),
        (lambda s: s / 2.0, [0.5, 1]),
        (lambda s: s * np.array([[2.0, 3.0], [4.0, 5.0]]), [2, 10]),
        (lambda s: np.array([[2.0, 3.0], [4.0, 5.0]]) * s, [2, 10]),
        (lambda s: s * [2.0, 3.0], [2, 6]),
        (lambda s: s / np.array([[2.0], [4.0]]), [0.5, 0.5]),
    ],
)
def test_dense_arrays_multiply_and_divide_the_values(compute, expected):
    found = compute(sparse([[0, 0], [1, 1]], [1.0, 2.0], (2, 2)))
    assert isinstance(found, SparseTensor)
    assert found.values.tolist() == expected
    assert found.indices.tolist() == [[0, 0], [1, 1]]


def test_operators_that_tensorflow_has_not_are_refused():
    numbers = sparse([[0, 0]], [1], (1, 2))
    for compute in (lambda: numbers + numbers, lambda: 1 + numbers):
        with pytest.raises(BadTypeError, match=r"no operator \+.*tf\.sparse\.add"):
            compute()
    with pytest.raises(BadTypeError, match="Use tf.sparse.to_dense"):
        numbers * numbers
    with pytest.raises(BadTypeError, match="Whole numbers are not multiplied with fractions"):
        numbers * 2.5
    with pytest.raises(BadArgumentError, match=r"the shape \(1, 2\). Received: an array of shape \(3,\)"):
        numbers * np.ones(3)
