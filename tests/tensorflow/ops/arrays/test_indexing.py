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
        lambda x: tf.sort(tf.boolean_mask(x, x > 1)),
        lambda x: tf.boolean_mask(tf.boolean_mask(x, x > 1), tf.boolean_mask(x, x > 1) > 1),
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


@pytest.mark.parametrize(
    "decide",
    [
        lambda y: 1.0 if tf.shape(y)[0] > 0 else 0.0,
        lambda y: 1.0 if tf.size(y) == 2 else 0.0,
        lambda y: 1.0 if y.shape[0] >= 1 else 0.0,
        lambda y: tf.concat([y[1:], y], 0),
    ],
)
def test_nothing_is_decided_by_a_size_that_may_be_none(decide):
    # JAX takes such a size for 1 at least.
    @tf.function
    def function(x):
        return decide(tf.boolean_mask(x, x > 0))

    with pytest.raises(BadTypeError, match="only when the compiled program runs"):
        function(tf.constant([-1.0, -2.0]))
