"""What variables mean in conditions, in loops and among bits; the numbers are those of TensorFlow 2.21."""

import pytest

import stratax.tf as tf


def test_whole_numbers_are_combined_bit_by_bit():
    v = tf.Variable(7)
    found = [v & 3, 11 & v, v | 8, 16 | v, v ^ 3, 11 ^ v, v & tf.Variable(5)]
    assert [int(each) for each in found] == [3, 3, 15, 23, 4, 12, 5]
    assert [int(each) for each in tf.function(lambda: [v & 3, v | 8])()] == [3, 15]
    flags = tf.Variable([True, False])
    assert (flags & [True, True]).tolist() == [True, False]
    assert (flags ^ [True, True]).tolist() == [False, True]


def test_rows_are_iterated_over_with_their_gradients():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        first, *others = v
        loss = first * 2.0 + others[-1] * 5.0
    assert [float(row) for row in v] == [1.0, 2.0, 3.0]
    assert tape.gradient(loss, v).numpy().tolist() == [2.0, 0.0, 5.0]
    assert list(tf.Variable(tf.zeros([0, 2]))) == []
    with pytest.raises(TypeError, match="no rows to iterate over"):
        iter(tf.Variable(1.0))


def test_a_variable_is_true_or_false_as_its_value_is():
    assert tf.Variable(1.0)
    assert not tf.Variable(0)
    count, is_on = tf.Variable(0), tf.Variable(False)

    @tf.function
    def step():
        if is_on:
            count.assign_add(1)
        if not is_on or (is_on and count > 5):
            count.assign_add(10)
        while is_on:
            is_on.assign(False)
            count.assign_add(100 if is_on else 1000)
        return count + 0

    assert int(step()) == 10
    is_on.assign(True)
    assert int(step()) == 1021
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tf.Variable([1.0, 2.0]))
