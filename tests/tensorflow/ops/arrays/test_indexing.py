"""Indices and masks that a compiled function can not know, or that are out of range."""

import contextlib
import math

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadTypeError


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.sequence_mask(x),
        lambda x: tf.unique(x).y,
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


@pytest.mark.parametrize(
    ("call", "computed"),
    [
        (lambda x: tf.boolean_mask(x, x > 1), [4.0, 6.0]),
        (lambda x: tf.where(x > 1), [[1], [2]]),
        (lambda x: tf.shape(tf.where(x > 9)), [0, 1]),
        (lambda x: tf.size(tf.boolean_mask(x, x > 0)), 3),
        (lambda x: tf.dynamic_partition(x, tf.cast(x > 4, tf.int32), 2), [[1.0, 4.0, -2.0], [6.0]]),
        (lambda x: tf.reduce_mean(tf.boolean_mask(x, x > 0)), 11.0 / 3.0),
        (lambda x: tf.reduce_max(tf.boolean_mask(x, x > 9)), -math.inf),
        (lambda x: tf.gather(x, tf.where(x < 2)[:, 0]) * 2.0, [2.0, -4.0]),
        (
            lambda x: tf.concat([tf.boolean_mask(x, x > 3), tf.zeros([2]), x[:1]], 0),
            [4.0, 6.0, 0.0, 0.0, 1.0],
        ),
        (lambda x: tf.ones([tf.shape(tf.boolean_mask(x, x > 3))[0], 1]), [[1.0], [1.0]]),
    ],
)
def test_arrays_whose_sizes_values_decide_are_those_of_tensorflow(call, computed):
    found = tf.function(call)(tf.constant([1.0, 4.0, 6.0, -2.0]))
    if isinstance(found, list):
        assert [each.numpy().tolist() for each in found] == computed
    else:
        np.testing.assert_allclose(found, computed, rtol=1e-6)


def chosen_loss(y_true, y_pred):
    chosen = tf.boolean_mask(y_pred[:, 0], y_true[:, 0] > 0.5)
    rest = tf.gather_nd(y_pred, tf.where(y_true[:, 0] <= 0.5))
    best = tf.map_fn(
        lambda row: tf.reduce_max(tf.boolean_mask(row[0], row[1] > 0.25)),
        (y_pred, tf.square(y_pred)),
        tf.float32,
    )
    return tf.reduce_mean(tf.square(chosen - 1.0)) + 0.1 * tf.reduce_sum(rest) + 0.0 * best


@pytest.mark.parametrize(
    ("devices", "eager", "losses"),
    [
        # TensorFlow 2.15 gives these, on one device and on two.
        (None, False, [3.09688, 2.16404, 1.63305]),
        (None, True, [3.09688, 2.16404, 1.63305]),
        (["CPU:0", "CPU:1"], False, [2.74555, 1.88236, 1.3836]),
    ],
)
def test_a_loss_of_chosen_examples_trains_as_in_tensorflow(devices, eager, losses):
    with tf.distribute.MirroredStrategy(devices).scope() if devices else contextlib.nullcontext():
        layers = [tf.keras.layers.Dense(2, "tanh", kernel_initializer="ones")]
        layers.append(tf.keras.layers.Dense(2, kernel_initializer="ones"))
        model = tf.keras.Sequential([tf.keras.Input((2,)), *layers])
        model.compile(tf.keras.optimizers.SGD(0.1), chosen_loss, run_eagerly=eager)
    x = np.array([[0.5, 1], [2, -1], [0.5, 0.25], [-1, -1], [1, 2], [0, 1]], np.float32)
    y = np.array([[1], [0], [1], [1], [0], [1]], np.float32)
    history = model.fit(x, y, epochs=3, batch_size=6, verbose=0, shuffle=False)
    np.testing.assert_allclose(history.history["loss"], losses, rtol=1e-5)


def _compare(y):
    return [tf.size(y) > 3, tf.shape(y)[0] > 3, tf.size(y) == 2, tf.shape(y)[0] != 2, tf.size(y) >= 1]


def _go_through(y):
    total, count = 0.0, 0
    for each in y:
        total += each * each
    while count < tf.size(y):
        total += y[count]
        count += 1
    return total


# Vectors of which 3, none, one, all and 2 are chosen, and what TensorFlow 2.21 computes of those.
ROWS = [[1.0, 4.0, 6.0, -2.0], [-1.0, -2.0, -1.0, -3.0], [3.0, -1.0, -1.0, -1.0], [1.0, 4.0, 6.0, 2.0]]
ROWS.append([1.0, -4.0, 6.0, -2.0])
SIZED = {
    "compared": (
        lambda y: tf.reduce_sum(tf.cast(tf.stack(_compare(y)), tf.int32) * [1, 2, 4, 8, 16]),
        [24, 8, 24, 27, 20],
    ),
    "a condition": (lambda y: tf.reduce_mean(y) if tf.size(y) > 0 else 0.0, [11 / 3, 0.0, 3.0, 3.25, 3.5]),
    "two conditions": (
        lambda y: 1.0 if not tf.size(y) > 3 and tf.reduce_sum(y) > 5.0 else 0.0,
        [1.0, 0.0, 0.0, 0.0, 1.0],
    ),
    "tf.cond": (
        lambda y: tf.cond(tf.equal(tf.size(y), 0), lambda: 0.5, lambda: tf.reduce_max(y)),
        [6.0, 0.5, 3.0, 6.0, 6.0],
    ),
    "loops": (_go_through, [64.0, 0.0, 12.0, 70.0, 44.0]),
    "differences": (
        lambda y: y[1:] - y[:-1],
        [[3.0, 2.0], [], [], [3.0, 2.0, -4.0], [5.0]],
    ),
    "every other": (lambda y: y[::-2], [[6.0, 1.0], [], [3.0], [2.0, 4.0], [6.0]]),
    "the last two": (lambda y: y[-2:], [[4.0, 6.0], [], [3.0], [6.0, 2.0], [1.0, 6.0]]),
    "between": (lambda y: y[1:3], [[4.0, 6.0], [], [], [4.0, 6.0], [6.0]]),
    "half": (lambda y: y[: tf.size(y) // 2], [[1.0], [], [], [1.0, 4.0], [1.0]]),
    "nothing's largest": (lambda y: tf.reduce_max(y[1:]), [6.0, -math.inf, -math.inf, 6.0, 6.0]),
    "nothing's mean": (lambda y: tf.reduce_mean(y[2:]), [6.0, math.nan, math.nan, 4.0, math.nan]),
    "joined": (
        lambda y: tf.concat([y[:1], tf.ones([1]), y[1:]], 0),
        [[1.0, 1.0, 4.0, 6.0], [1.0], [3.0, 1.0], [1.0, 1.0, 4.0, 6.0, 2.0], [1.0, 1.0, 6.0]],
    ),
    "filled up": (
        lambda y: tf.concat([y, tf.ones([5 - tf.size(y)])], 0),
        [[1.0, 4.0, 6.0, 1, 1], [1.0] * 5, [3.0, 1, 1, 1, 1], [1.0, 4.0, 6.0, 2.0, 1], [1.0, 6.0, 1, 1, 1]],
    ),
    "sorted": (tf.sort, [[1.0, 4.0, 6.0], [], [3.0], [1.0, 2.0, 4.0, 6.0], [1.0, 6.0]]),
    "repeated": (lambda y: tf.tile(y[1:], [2]), [[4.0, 6.0] * 2, [], [], [4.0, 6.0, 2.0] * 2, [6.0] * 2]),
    "chosen of chosen": (
        lambda y: tf.boolean_mask(y, y > 1.5),
        [[4.0, 6.0], [], [3.0], [4.0, 6.0, 2.0], [6.0]],
    ),
}


@pytest.mark.parametrize(("call", "computed"), SIZED.values(), ids=SIZED)
def test_programs_decide_and_cut_by_sizes_that_values_decide(call, computed):
    function = tf.function(lambda x: call(tf.boolean_mask(x, x > 0)))
    for row, expected in zip(ROWS, computed, strict=True):
        np.testing.assert_allclose(function(tf.constant(row)), expected, rtol=1e-6)


def test_a_row_that_is_not_there_is_no_number():
    function = tf.function(lambda x: tf.boolean_mask(x, x > 0)[-1])
    assert [float(function(tf.constant(row))) for row in ROWS[2:]] == [3.0, 2.0, 6.0]
    assert math.isnan(function(tf.constant(ROWS[1])))


def test_derivatives_go_to_the_rows_that_a_part_has():
    @tf.function
    def derive(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.boolean_mask(x, x > 0)
            ends = tf.concat([y[:2], tf.ones([3]), y[1:]], 0)
            loss = tf.cond(
                tf.size(y) > 1, lambda: tf.reduce_sum(y[1:] * y[:-1]), lambda: tf.reduce_sum(y) * 2.0
            )
            for each in y:
                loss += each * each
            loss += tf.reduce_sum(tf.square(ends) * 3.0)
        return tape.gradient(loss, x)

    # TensorFlow 2.21 gives these.
    expected = [
        [12.0, 63.0, 52.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [26.0, 0.0, 0.0, 0.0],
        [12.0, 63.0, 54.0, 22.0],
        [14.0, 0.0, 85.0, 0.0],
    ]
    for row, derivative in zip(ROWS, expected, strict=True):
        np.testing.assert_allclose(derive(tf.constant(row)), derivative)


def sized_loss(y_true, y_pred):
    y = tf.boolean_mask(y_pred[:, 0], y_true[:, 0] > 0.5)
    steps = tf.cond(
        tf.size(y) > 1, lambda: tf.reduce_mean(tf.square(y[1:] - y[:-1] - 1.0)), lambda: tf.reduce_sum(y_pred)
    )
    steps += tf.where(tf.equal(tf.shape(y)[0], 2), 0.1 * tf.reduce_sum(y[-1:]), 0.0)
    return steps + 0.01 * tf.reduce_sum(y[::-1][:1]) + 0.1 * tf.reduce_mean(y_pred**2)


@pytest.mark.parametrize(
    ("devices", "labels", "losses"),
    [
        # TensorFlow 2.15 gives these.
        (None, [1, 0, 1, 1, 0, 1], [8.97084, 1.50158, 1.16166]),
        (["CPU:0", "CPU:1"], [1, 0, 1, 1, 0, 1], [4.63055, 1.29494, 0.90689]),
        (None, [0, 0, 0, 0, 0, 0], [12.66487, -2.41846, -15.61221]),
        (["CPU:0", "CPU:1"], [0, 0, 0, 0, 0, 0], [6.47584, 2.47815, -1.44602]),
        (None, [1, 0, 0, 0, 0, 1], [2.11101, 1.92495, 1.80099]),
        (["CPU:0", "CPU:1"], [1, 0, 0, 0, 0, 1], [6.49251, 2.48066, -1.45559]),
    ],
)
def test_a_loss_that_decides_by_how_many_are_chosen_trains_as_in_tensorflow(devices, labels, losses):
    with tf.distribute.MirroredStrategy(devices).scope() if devices else contextlib.nullcontext():
        layers = [tf.keras.layers.Dense(2, "tanh", kernel_initializer="ones")]
        layers.append(tf.keras.layers.Dense(2, kernel_initializer="ones"))
        model = tf.keras.Sequential([tf.keras.Input((2,)), *layers])
        model.compile(tf.keras.optimizers.SGD(0.1), sized_loss)
    x = np.array([[0.5, 1], [2, -1], [0.5, 0.25], [-1, -1], [1, 2], [0, 1]], np.float32)
    y = np.array(labels, np.float32)[:, None]
    history = model.fit(x, y, epochs=3, batch_size=6, verbose=0, shuffle=False)
    np.testing.assert_allclose(history.history["loss"], losses, rtol=2e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda y: tf.unique(y)[0],
        lambda y: tf.zeros([tf.size(y) - 1]),
        lambda y: tf.zeros([3 - tf.size(y)]),
    ],
)
def test_what_is_not_known_of_such_sizes_is_refused(call):
    with pytest.raises(BadTypeError, match="only when the compiled program runs"):
        tf.function(lambda x: call(tf.boolean_mask(x, x > 0)))(tf.constant(ROWS[0]))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tf.gather([1, 2], x), "int32"),
        (lambda x: tf.gather([1.5, 2.5], x), "float32"),
        (lambda x: tf.unique([1, 1, 2]).y, "int32"),
        (lambda x: tf.slice([1, 2, 3], [1], [2]), "int32"),
        (lambda x: tf.boolean_mask([1, 2], [True, False]), "int32"),
        (lambda x: tf.boolean_mask([1.5, 2], [True, False]), "float32"),
        (lambda x: tf.dynamic_partition([1, 2], [0, 1], 2)[0], "int32"),
        (lambda x: tf.argmax([1, 2]), "int64"),
    ],
)
def test_lists_in_mapped_functions_have_the_dtypes_of_tensorflow(function, expected):
    dataset = tf.data.Dataset.range(2).map(function)
    assert dataset.element_spec.dtype == expected
    assert next(iter(dataset)).dtype == expected
