"""Derivatives and compiled functions of SparseTensors' values: numbers are those of TensorFlow 2.21."""

import numpy as np
import pytest

import stratax.tf as tf

INDICES = [[0, 0], [0, 2], [1, 1]]
START = np.array([1.0, 3.0, 5.0], np.float32) / 7


@pytest.fixture
def weights():
    return tf.Variable(START)


def sparse(weights):
    return tf.SparseTensor(INDICES, weights * 1.0, [2, 3])


CALLS = {
    "to_dense": (lambda w: tf.sparse.to_dense(sparse(w)), [1, 1, 1]),
    "of a variable": (lambda w: tf.sparse.to_dense(tf.SparseTensor(INDICES, w, [2, 3])), [1, 1, 1]),
    "reduce_sum": (lambda w: tf.square(tf.sparse.reduce_sum(sparse(w), axis=1)), [8 / 7, 8 / 7, 10 / 7]),
    "reduce_max": (lambda w: tf.sparse.reduce_max(sparse(w), axis=1), [0, 1, 1]),
    "add": (lambda w: tf.sparse.add(sparse(w), sparse(w)).values, [2, 2, 2]),
    "add of an array": (lambda w: tf.sparse.add(sparse(w), np.ones((2, 3), np.float32)), [1, 1, 1]),
    "product": (lambda w: (sparse(w) * tf.constant([[2.0, 3.0, 4.0]])).values, [2, 4, 3]),
    "matmul": (lambda w: tf.sparse.sparse_dense_matmul(sparse(w), [[1.0], [2.0], [3.0]]), [1, 3, 2]),
    "softmax": (lambda w: tf.sparse.softmax(sparse(w)).values[:1], [0.2449, -0.2449, 0]),
    "reorder": (lambda w: tf.sparse.reorder(sparse(w)).values, [1, 1, 1]),
    "slice": (lambda w: tf.sparse.slice(sparse(w), [0, 0], [1, 3]).values, [1, 1, 0]),
    "concat": (lambda w: tf.sparse.concat(0, [sparse(w), sparse(w)]).values, [2, 2, 2]),
    "transpose": (lambda w: tf.sparse.transpose(sparse(w)).values, [1, 1, 1]),
    "reshape": (lambda w: tf.sparse.reshape(sparse(w), [3, 2]).values, [1, 1, 1]),
    "expand_dims": (lambda w: tf.sparse.expand_dims(sparse(w), 0).values, [1, 1, 1]),
    "map_values": (lambda w: tf.sparse.map_values(tf.square, sparse(w)).values, [2 / 7, 6 / 7, 10 / 7]),
    "retain": (lambda w: tf.sparse.retain(sparse(w), [True, False, True]).values, [1, 0, 1]),
    "fill_empty_rows": (lambda w: tf.sparse.fill_empty_rows(sparse(w), 0.0)[0].values, [1, 1, 1]),
    "from_dense": (lambda w: tf.sparse.from_dense(w).values, [1, 1, 1]),
    "where": (lambda w: tf.where(w > 0.2, w, 0.0), [0, 1, 1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_stay_on_a_tape(weights, name):
    call, expected = CALLS[name]
    with tf.GradientTape() as tape:
        made = call(weights)
    gradient = tape.gradient(made, weights)
    np.testing.assert_allclose(tf.convert_to_tensor(gradient), expected, atol=1e-4)


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"from_dense"}))
def test_a_compiled_function_reads_a_variable_when_it_runs(weights, name):
    call = CALLS[name][0]
    compiled = tf.function(lambda: call(weights))
    for factor in (1.0, 2.0):
        weights.assign(START * factor)
        np.testing.assert_allclose(compiled(), call(weights), rtol=1e-6)


def test_what_is_on_the_host_stays_there():
    rows = tf.sparse.from_dense(np.array([[0, 5], [6, 0]]))
    assert isinstance(rows.values, np.ndarray)
    for made in (
        tf.sparse.to_dense(rows),
        tf.sparse.reduce_sum(rows, axis=1),
        tf.sparse.add(rows, rows).values,
        tf.sparse.concat(0, [rows, rows]).values,
    ):
        assert isinstance(made, np.ndarray)
        assert made.dtype == np.int64
