"""Functions of RaggedTensors' rows; all values are TensorFlow 2.21's."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

ROWS = tf.ragged.constant([[1, 2, 3], [], [4, 5], [6]])


def test_a_function_is_mapped_over_rows():
    sums = tf.map_fn(tf.reduce_sum, ROWS, fn_output_signature=tf.int32)
    assert sums.numpy().tolist() == [6, 0, 9, 6]
    doubled = tf.map_fn(lambda row: row * 2, ROWS)
    assert doubled.to_list() == [[2, 4, 6], [], [8, 10], [12]]
    both = tf.map_fn(
        lambda pair: (pair[0] + pair[1], tf.size(pair[0])),
        (ROWS, tf.constant([10, 20, 30, 40])),
        fn_output_signature=(tf.RaggedTensorSpec([None], tf.int32), tf.int32),
    )
    assert (both[0].to_list(), both[1].tolist()) == ([[11, 12, 13], [], [34, 35], [46]], [3, 0, 2, 1])


def test_results_may_be_rows_of_different_lengths():
    spec = tf.RaggedTensorSpec(shape=[None], dtype=tf.int32)
    made = tf.map_fn(tf.range, tf.constant([3, 5, 0, 2]), fn_output_signature=spec)
    assert made.to_list() == [[0, 1, 2], [0, 1, 2, 3, 4], [], [0, 1]]


def test_rows_and_results_may_be_sparse():
    sparse = tf.sparse.eye(3, 2)
    sums = tf.map_fn(tf.sparse.reduce_sum, sparse, fn_output_signature=tf.float32)
    assert sums.numpy().tolist() == [1.0, 1.0, 0.0]
    spec = tf.SparseTensorSpec(None, tf.float32)
    eyes = tf.map_fn(tf.sparse.eye, tf.constant([2, 3]), fn_output_signature=spec)
    assert tf.sparse.to_dense(eyes).numpy().tolist() == [
        np.pad(np.eye(2), (0, 1)).tolist(),
        np.eye(3).tolist(),
    ]


def test_a_mapped_function_has_to_give_what_is_declared():
    with pytest.raises(BadTypeError, match="another dtype than was declared"):
        tf.map_fn(lambda row: tf.cast(tf.reduce_sum(row), tf.float32), ROWS, fn_output_signature=tf.int32)
    with pytest.raises(BadArgumentError, match="another structure than was declared"):
        tf.map_fn(lambda row: (row, row), ROWS)
    with pytest.raises(BadArgumentError, match="first dimension of elems"):
        tf.map_fn(lambda pair: pair[0], (ROWS, tf.constant([1])), fn_output_signature=tf.int32)


def test_rows_are_split():
    rows = tf.RaggedTensor.from_row_lengths(
        tf.RaggedTensor.from_uniform_row_length(np.arange(12).reshape(4, 3), 1), [1, 2, 0, 1]
    )
    first, second = tf.split(rows, 2)
    assert [first.to_list(), second.to_list()] == [rows[:2].to_list(), rows[2:].to_list()]
    parts = tf.split(rows, [1, -1, 1])
    assert [len(part) for part in parts] == [1, 2, 1]
    left, right = tf.split(rows, [1, 2], axis=3)
    assert left.to_list()[0] == [[[0]]]
    assert right.to_list()[0] == [[[1, 2]]]
    with pytest.raises(BadArgumentError, match="dimension of one size"):
        tf.split(ROWS, 1, axis=1)
    with pytest.raises(BadArgumentError, match="have to add up"):
        tf.split(ROWS, [1, 1])


def test_places_are_gathered():
    params = tf.ragged.constant(
        [[["000", "001"], ["010"]], [["100"], ["110", "111", "112"], ["120"]], [[], ["210"]]]
    )
    assert tf.gather_nd(params, [[2], [0]]).to_list() == [[[], [b"210"]], [[b"000", b"001"], [b"010"]]]
    assert tf.gather_nd(params, [[2, 1], [0, 0]]).to_list() == [[b"210"], [b"000", b"001"]]
    assert tf.gather_nd(params, [[0, 0, 1], [1, 1, 2]]).numpy().tolist() == [b"001", b"112"]
    with pytest.raises(BadArgumentError):
        tf.gather_nd(params, [[9]])


# TensorFlow 2.21.
def test_places_that_lie_in_rows_are_gathered():
    rows = tf.ragged.constant([[[1, 2], [3]], [[4], [5, 6, 7]]])
    dense = tf.reshape(tf.range(24), [2, 3, 4])

    def places(*nested, ragged_rank=1):
        return tf.ragged.constant(list(nested), ragged_rank=ragged_rank, dtype=tf.int32)

    def gather(params, *nested, ragged_rank=1):
        return tf.gather_nd(params, places(*nested, ragged_rank=ragged_rank)).to_list()

    assert gather(rows, [[0, 0]], []) == [[[1, 2]], []]
    assert gather(rows, [[0, 0, 1]], [], [[1, 1, 2], [1, 0, 0]]) == [[2], [], [7, 4]]
    assert gather(rows, [[0]], [], [[1]]) == [[[[1, 2], [3]]], [], [[[4], [5, 6, 7]]]]
    assert gather(rows, [[[0, 0]], []], [], ragged_rank=2) == [[[[1, 2]], []], []]
    assert gather(dense, [[0, 0]], [], [[1, 1], [1, 2]]) == [
        [[0, 1, 2, 3]],
        [],
        [[16, 17, 18, 19], [20, 21, 22, 23]],
    ]
    assert gather(tf.constant([["a", "b"], ["c", "d"]]), [[0, 1]], [], [[1, 0]]) == [[b"b"], [], [b"c"]]
    with pytest.raises(BadArgumentError, match="innermost dimension of indices may not be ragged"):
        tf.gather_nd(dense, tf.ragged.constant([[0, 0], [1]]))
    with pytest.raises(BadArgumentError, match="An index is out of range"):
        gather(rows, [[0, 5]])
    with pytest.raises(BadArgumentError, match="has no batch_dims"):
        tf.gather_nd(dense, places([[0, 0]]), batch_dims=1)
    inside = tf.function(tf.gather_nd)(dense, places([[0, 0, 3]], [], [[1, 1, 0], [1, 2, 1]]))
    assert inside.to_list() == [[3], [], [16, 21]]


def test_places_of_any_number_are_gathered():
    rows = tf.ragged.constant([[1, 2, 3], [], [4]])
    wide = tf.RaggedTensor.from_row_splits(np.arange(12.0).reshape(6, 2), [0, 2, 2, 6])
    assert tf.gather_nd(rows, np.zeros([2, 0], np.int32)).to_list() == [rows.to_list()] * 2
    assert tf.gather_nd(rows, np.zeros([0], np.int32)).to_list() == rows.to_list()
    assert tf.gather_nd(rows, np.zeros([0, 1], np.int32)).to_list() == []
    assert tf.gather_nd(rows, np.zeros([0, 2], np.int32)).numpy().tolist() == []
    assert tf.gather_nd(rows, [0]).to_list() == [[1, 2, 3]]
    assert tf.gather_nd(rows, [0, 2]).numpy() == 3
    assert tf.gather_nd(rows, [[[0, 0], [2, 0]]]).numpy().tolist() == [[1, 4]]
    assert tf.gather_nd(rows, [[[2], [1]], [[0], [0]]]).to_list() == [[[4], []], [[1, 2, 3], [1, 2, 3]]]
    assert tf.gather_nd(wide, [[0, 0], [2, 3]]).numpy().tolist() == [[0.0, 1.0], [10.0, 11.0]]
    assert tf.gather_nd(wide, [[0, 0, 1], [2, 3, 0]]).numpy().tolist() == [1.0, 10.0]
    with pytest.raises(BadArgumentError, match="at least one dimension"):
        tf.gather_nd(rows, 0)


def test_numbers_are_counted_in_rows():
    data = tf.ragged.constant([[1, 1], [2, 3, 2, 4, 4, 5]])
    weights = tf.ragged.constant([[1, 5], [0, 1, 0, 5, 4, 5]])
    assert tf.math.bincount(data).numpy().tolist() == [0, 2, 2, 1, 2, 1]
    assert tf.math.bincount(data, weights=weights).numpy().tolist() == [0, 6, 0, 1, 9, 5]
    assert tf.math.unsorted_segment_sum(weights, data, num_segments=6).numpy().tolist() == [0, 6, 0, 1, 9, 5]
    rows = tf.ragged.constant([[1, 2], [3, 0, 0, 0, 1, 2]])
    assert tf.math.bincount(rows, axis=-1).numpy().tolist() == [[0, 1, 1, 0], [3, 1, 1, 1]]
    binary = tf.math.bincount(rows, axis=-1, binary_output=True)
    assert binary.numpy().tolist() == [[0, 1, 1, 0], [1, 1, 1, 1]]


def test_rows_of_other_lengths_are_not_equal():
    rows = tf.ragged.constant([[1, 2], [3]])
    other = tf.ragged.constant([[1, 2], [3, 4]])
    dense = tf.constant([[1, 2], [3, 4]])
    assert [rows == other, rows == dense, dense == rows, rows != other] == [False, False, False, True]
    assert (other == dense).to_list() == [[True, True], [True, True]]
    with pytest.raises(BadArgumentError, match="need rows of the same lengths"):
        _ = rows < other


def test_the_rank_is_a_tensor():
    assert tf.rank(ROWS).numpy() == 2
