"""Poolings of windows whose sizes are drawn. The windows and numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError

IMAGES = np.random.RandomState(0).randn(2, 13, 17, 2).astype(np.float32)
PLAIN = ([0, 2, 4, 6, 8, 9, 11, 13], [0, 1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17])
PSEUDO = ([0, 1, 3, 5, 7, 9, 11, 13], [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 17])


@pytest.fixture(autouse=True)
def _without_a_seed():
    # Windows follow from the program's seed, too, which another test may have set.
    tf.random.set_seed(None)


@pytest.mark.parametrize(
    ("pool", "pseudo_random", "overlapping", "windows", "first"),
    [
        (tf.nn.fractional_max_pool, False, False, PLAIN, [1.764, 0.4, 1.23, 2.241, 1.868, -0.302]),
        (tf.nn.fractional_max_pool, False, True, PLAIN, [1.764, 2.241, 1.868, 2.241, 1.868, -0.151]),
        (tf.nn.fractional_max_pool, True, False, PSEUDO, [1.764, 0.4, 0.979, 2.241, 1.868, -0.977]),
        (tf.nn.fractional_max_pool, True, True, PSEUDO, [1.764, 2.241, 1.868, 2.241, 1.868, -0.151]),
        (tf.nn.fractional_avg_pool, False, False, PLAIN, [0.708, 0.278, 1.105, 1.722, 0.74, -0.64]),
        (tf.nn.fractional_avg_pool, False, True, PLAIN, [0.574, 0.697, 0.926, 0.176, 0.487, -0.795]),
        (tf.nn.fractional_avg_pool, True, True, PSEUDO, [0.906, 1.0, 0.922, 0.541, 0.345, -0.713]),
    ],
)
def test_a_seed_draws_tensorflows_windows(pool, pseudo_random, overlapping, windows, first):
    def compute(images):
        return pool(images, [1, 1.7, 1.2, 1], pseudo_random, overlapping, seed=3)

    for function in (compute, tf.function(compute)):
        output, rows, columns = function(tf.constant(IMAGES))
        assert (rows.numpy().tolist(), columns.numpy().tolist()) == windows
        assert output.shape == (2, 7, 14, 2)
        np.testing.assert_allclose(np.asarray(output).ravel()[:6], first, atol=1e-3)


def test_a_seed_begins_anew_in_each_call_and_none_does_not():
    first, second = (tf.nn.fractional_max_pool(IMAGES, 1.4, seed=5) for _ in range(2))
    assert first.row_pooling_sequence.numpy().tolist() == [0, 1, 2, 4, 6, 7, 8, 9, 11, 13]
    assert first.row_pooling_sequence.numpy().tolist() == second.row_pooling_sequence.numpy().tolist()
    compiled = tf.function(lambda pseudo: tf.nn.fractional_max_pool(IMAGES, 1.4, pseudo))
    for pseudo in (False, True):
        drawn = [compiled(pseudo) for _ in range(8)]
        assert len({str(each.row_pooling_sequence) + str(each.col_pooling_sequence) for each in drawn}) > 1
        for each in drawn:
            lengths = np.diff(np.asarray(each.col_pooling_sequence))
            assert set(lengths) == {1, 2}
            assert lengths.sum() == 17


def test_whole_numbers_empty_batches_and_ratios_of_1():
    whole = tf.nn.fractional_max_pool(tf.cast(IMAGES * 10, tf.int32), 1.4, seed=7).output
    assert whole.numpy().ravel()[:6].tolist() == [17, 4, 18, 22, 9, -1]
    assert tf.nn.fractional_avg_pool(IMAGES[:0], 1.4, seed=3).output.shape == (0, 9, 12, 2)
    np.testing.assert_array_equal(tf.nn.fractional_max_pool(IMAGES, 1.0, seed=7).output, IMAGES)
    rows = tf.nn.fractional_max_pool(IMAGES[:, :12], 2.0, True, seed=7).row_pooling_sequence
    assert rows.numpy().tolist() == [0, 2, 4, 6, 8, 10, 12]


def test_the_gradient_goes_to_the_first_of_the_largest():
    image = [[1, 1, 2, 0, 3], [1, 5, 5, 0, 3], [0, 0, 9, 9, 9], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]
    images = tf.constant(np.float32(image)[None, :, :, None])
    with tf.GradientTape() as tape:
        tape.watch(images)
        output = tf.nn.fractional_max_pool(images, 1.5, overlapping=True, seed=3).output
        loss = tf.reduce_sum(output * tf.reshape(tf.range(1.0, 10.0), [1, 3, 3, 1]))
    assert np.asarray(tape.gradient(loss, images)).ravel().tolist() == [
        *[0, 0, 0, 0, 3],
        *[0, 7, 0, 0, 0],
        *[0, 0, 5, 6, 0],
        *[0, 0, 0, 8, 9],
        *[7, 0, 0, 0, 0],
    ]


def test_wrong_arguments_say_what_was_expected():
    for ratio in (0.5, [2, 1.5, 1.5, 1], [1, 1, 1]):
        with pytest.raises(BadArgumentError, match="pooling_ratio is a number of at least 1"):
            tf.nn.fractional_max_pool(IMAGES, ratio, seed=3)
    with pytest.raises(BadArgumentError, match="a batch, rows, columns and channels"):
        tf.nn.fractional_max_pool(IMAGES[0], 1.5, seed=3)
    with pytest.raises(BadArgumentError, match="No window is left"):
        tf.nn.fractional_max_pool(IMAGES, [1, 30.0, 1.5, 1], seed=3)
