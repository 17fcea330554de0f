"""Derivatives and compiled functions of rows of different lengths: numbers are those of TensorFlow 2.21."""

import numpy as np
import pytest

import stratax.tf as tf

IDS = [[1, 2], [], [3, 4, 5]]
START = np.arange(12, dtype=np.float32).reshape(6, 2) / 7


@pytest.fixture
def weights():
    return tf.Variable(START)


def look_up(weights):
    return tf.nn.embedding_lookup(weights, tf.ragged.constant(IDS))


def first_of(rows):
    return tf.ragged.map_flat_values(lambda values: values[:, 0], rows)


@pytest.mark.parametrize(
    ("name", "of_rows", "of_all"),
    [
        ("reduce_sum", [0, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]),
        ("reduce_mean", [0, 0.5, 0.5, 0.3333, 0.3333, 0.3333], [0, 0.1, 0.1, 0.1, 0.1, 0.1]),
        ("reduce_max", [0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0]),
        ("reduce_min", [0, 1, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0]),
        (
            "reduce_prod",
            [0, 0.5714, 0.2857, 1.6327, 1.2245, 0.9796],
            [0, 0.4946, 0.2473, 0.1649, 0.1236, 0.0989],
        ),
    ],
)
def test_reductions_have_derivatives(weights, name, of_rows, of_all):
    reduce = getattr(tf, name)
    with tf.GradientTape(persistent=True) as tape:
        rows, everything = reduce(look_up(weights), axis=1), reduce(look_up(weights))
        by_places = reduce(reduce(look_up(weights), axis=0))
    found = [
        tf.convert_to_tensor(tape.gradient(result, weights)).numpy()[:, 0] for result in (rows, everything)
    ]
    np.testing.assert_allclose(found, [of_rows, of_all], atol=1e-4)
    # Of the mean of places each place counts alike.
    if name != "reduce_mean":
        by_place = tf.convert_to_tensor(tape.gradient(by_places, weights)).numpy()[:, 0]
        np.testing.assert_allclose(by_place, of_all, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda w: tf.math.reduce_variance(look_up(w), axis=1), [0, -0.1429, 0.1429, -0.1905, 0, 0.1905]),
        (lambda w: tf.math.reduce_std(look_up(w), axis=1), [0, -0.5, 0.5, -0.4082, 0, 0.4082]),
        (lambda w: (look_up(w) * 2 + 1).to_tensor(), [0, 2, 2, 2, 2, 2]),
        (lambda w: tf.concat([look_up(w), look_up(w)], 1).flat_values, [0, 2, 2, 2, 2, 2]),
        (lambda w: tf.concat([look_up(w), look_up(w)], 0).flat_values, [0, 2, 2, 2, 2, 2]),
        (lambda w: tf.ragged.boolean_mask(tf.gather(w, [1, 2, 3]), [True, False, True]), [0, 1, 0, 1, 0, 0]),
        (lambda w: look_up(w)[2], [0, 0, 0, 1, 1, 1]),
        (lambda w: look_up(w)[:, :1].to_tensor(), [0, 1, 0, 1, 0, 0]),
        (lambda w: tf.square(tf.nn.softmax(first_of(look_up(w)))).flat_values, None),
        (lambda w: tf.gather(look_up(w), [0, 2]).flat_values, [0, 1, 1, 1, 1, 1]),
        (
            lambda w: tf.ragged.stack([tf.gather(w, [1, 2]), tf.gather(w, [3])]).flat_values,
            [0, 1, 1, 1, 0, 0],
        ),
        (lambda w: tf.expand_dims(look_up(w), 1).flat_values, [0, 1, 1, 1, 1, 1]),
        (
            lambda w: tf.map_fn(
                lambda row: tf.reduce_sum(row, 0), look_up(w), fn_output_signature=tf.TensorSpec([2])
            ),
            [0, 1, 1, 1, 1, 1],
        ),
        (lambda w: tf.reduce_sum(tf.RaggedTensor.from_row_splits(w, [0, 2, 6]), axis=1), [1] * 6),
        (lambda w: tf.tile(look_up(w), [1, 2, 1]).flat_values, [0, 2, 2, 2, 2, 2]),
        (lambda w: tf.where(look_up(w) > 0.5, look_up(w), -look_up(w)).flat_values, [0, -1, 1, 1, 1, 1]),
        (lambda w: tf.reduce_sum(look_up(w), axis=1, keepdims=True), [0, 1, 1, 1, 1, 1]),
    ],
)
def test_what_is_made_of_rows_has_derivatives(weights, call, expected):
    with tf.GradientTape() as tape:
        made = call(weights)
    found = tf.convert_to_tensor(tape.gradient(made, weights)).numpy()[:, 0]
    if expected is None:
        # Of the squares of shares of 1: a row's derivatives add up to 0.
        assert np.abs(found).max() > 0.01
        np.testing.assert_allclose([found[1:3].sum(), found[3:].sum()], 0, atol=1e-6)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_shares_of_rows_add_up_to_1():
    rows = tf.ragged.constant([[0.2857143, 0.5714286], [], [0.85714287, 1.1428572, 1.4285715]])
    shares = tf.nn.softmax(rows)
    np.testing.assert_allclose(shares.flat_values, [0.4291, 0.5709, 0.2438, 0.3244, 0.4317], atol=1e-4)
    np.testing.assert_allclose(tf.nn.softmax(tf.ragged.constant([[1000.0, 1000.0]])).flat_values, [0.5, 0.5])
    with pytest.raises(tf.errors.InvalidArgumentError, match="last dimension"):
        tf.nn.softmax(rows, axis=0)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"])
def test_a_compiled_function_reads_a_variable_when_it_runs(weights, name):
    reduce = getattr(tf, name)
    of_constant = tf.function(lambda: reduce(look_up(weights), axis=1))
    of_argument = tf.function(lambda ids: reduce(tf.nn.embedding_lookup(weights, ids), axis=1))
    for factor in (1.0, 2.0):
        weights.assign(START * factor)
        expected = reduce(look_up(weights), axis=1)
        np.testing.assert_allclose(of_constant(), expected, rtol=1e-6)
        np.testing.assert_allclose(of_argument(tf.ragged.constant(IDS)), expected, rtol=1e-6)


def test_truth_is_reduced_where_it_is_computed(weights):
    wide = tf.function(lambda: tf.reduce_any(look_up(weights) > 0.5, axis=1))
    assert wide().numpy().tolist() == [[True, True], [False, False], [True, True]]
    narrow = tf.function(lambda: tf.reduce_all(look_up(weights) > 0.5, axis=1))
    assert narrow().numpy().tolist() == [[False, False], [True, True], [True, True]]
