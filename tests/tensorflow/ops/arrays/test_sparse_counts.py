"""`tf.sparse.bincount`: TensorFlow 2.21's values."""

import pytest

import stratax.tf as tf
from stratax import errors

ROWS = [[1, 2, 2], [5, 0, 1]]
PLACES = [[0, 1], [0, 2], [1, 0], [1, 1], [1, 5]]


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([1, 2, 2, 5], {}, ([[1], [2], [5]], [1, 2, 1], [6])),
        (ROWS, {"axis": -1}, (PLACES, [1, 2, 1, 1, 1], [2, 6])),
        (ROWS, {"axis": 0}, ([[0], [1], [2], [5]], [1, 2, 2, 1], [6])),
        (ROWS, {"axis": None}, ([[0], [1], [2], [5]], [1, 2, 2, 1], [6])),
        (ROWS, {"axis": -1, "minlength": 4, "maxlength": 4}, (PLACES[:4], [1, 2, 1, 1], [2, 4])),
        (ROWS, {"axis": -1, "minlength": 9}, (PLACES, [1, 2, 1, 1, 1], [2, 9])),
        (ROWS, {"axis": -1, "weights": [[1, 2, 3], [1, 1, 1]]}, (PLACES, [1, 5, 1, 1, 1], [2, 6])),
        (ROWS, {"axis": -1, "binary_output": True}, (PLACES, [1, 1, 1, 1, 1], [2, 6])),
        ([1, 2, 8], {"maxlength": 4}, ([[1], [2]], [1, 1], [4])),
    ],
)
def test_numbers(values, options, expected):
    found = tf.sparse.bincount(values, **options)
    assert (
        tuple(each.numpy().tolist() for each in (found.indices, found.values, found.dense_shape)) == expected
    )
    assert found.values.dtype == tf.int32


def test_rows_of_other_lengths_and_sparse_ones():
    ragged = tf.sparse.bincount(tf.ragged.constant([[1, 1], [], [3]]), axis=-1)
    assert tf.sparse.to_dense(ragged).numpy().tolist() == [[0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    values, weights = (
        tf.sparse.from_dense(each) for each in ([[1, 1, 0], [0, 3, 2]], [[1.0, 2, 0], [0, 3, 2]])
    )
    assert tf.sparse.to_dense(tf.sparse.bincount(values, axis=-1)).numpy().tolist() == [
        [0, 2, 0, 0],
        [0, 0, 1, 1],
    ]
    weighed = tf.sparse.to_dense(tf.sparse.bincount(values, weights, axis=-1))
    assert weighed.numpy().tolist() == [[0, 3, 0, 0], [0, 0, 2, 3]]
    assert weighed.dtype == tf.float32


def test_elements_of_a_dataset():
    rows = tf.data.Dataset.from_tensor_slices(ROWS).map(lambda row: tf.sparse.bincount(row, maxlength=6))
    assert [tf.sparse.to_dense(row).numpy().tolist() for row in rows] == [
        [0, 1, 2, 0, 0, 0],
        [1, 1, 0, 0, 0, 1],
    ]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (ROWS, {"axis": 1}, "Only 0 and -1 are currently supported"),
        ([-1, 2], {}, "must all be non-negative"),
        ([1.0, 2.0], {}, "must all be non-negative whole numbers"),
        ([1, 2], {"weights": [1, 1], "binary_output": True}, "mutually exclusive"),
        ([1, 2], {"weights": [1]}, "Each value needs a weight"),
    ],
)
def test_refusals(values, options, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        tf.sparse.bincount(values, **options)
