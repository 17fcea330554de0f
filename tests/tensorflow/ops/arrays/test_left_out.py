"""A TensorArray that nothing is written to has the shape that TensorFlow knows of what would have been."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError

ROWS = np.array([[0, 0, 0], [3, 1, 2], [5, 1, 1]], np.float32)


def pick(rows, wanted):
    """Return the places and values of rows whose first number is wanted, as a loop of a detector's targets does."""
    found = tf.TensorArray(tf.int32, 1, dynamic_size=True)
    values = tf.TensorArray(tf.float32, 1, dynamic_size=True)
    number = 0
    for i in tf.range(tf.shape(rows)[0]):
        if tf.equal(rows[i][0], 0):
            continue
        same = tf.equal(wanted, tf.cast(rows[i][0], tf.int32))
        if tf.reduce_any(same):
            place = tf.cast(tf.where(same), tf.int32)
            found = found.write(number, [i, place[0][0]])
            values = values.write(number, rows[i])
            number += 1
    return found.stack(), values.stack()


# By TensorFlow 2.15.
CASES = {
    "none fits": (ROWS, [7, 8], [[0, 0]], [[0, 0, 0]]),
    "two fit": (ROWS, [5, 3], [[1, 1], [2, 0]], [[3, 1, 2], [5, 1, 1]]),
    "nothing is looked at": (0 * ROWS, [5, 3], [[0, 0]], [[0, 0, 0]]),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_what_would_have_been_written_tells_the_shape(case, compiled):
    rows, wanted, places, values = CASES[case]
    function = tf.function(pick) if compiled else pick
    dataset = tf.data.Dataset.from_tensors(rows).map(lambda each: function(each, tf.constant(wanted)))
    ((found, kept),) = dataset
    assert np.asarray(found).tolist() == places
    assert np.asarray(kept).tolist() == values


def test_an_array_without_elements_has_their_shape():
    def positive(rows):
        found = tf.TensorArray(tf.int32, 0, dynamic_size=True)
        i = 0
        while i < tf.shape(rows)[0]:
            if rows[i][0] > 0:
                found = found.write(found.size(), [i, i])
            i += 1
        return found.stack()

    shapes = [x.shape for x in tf.data.Dataset.from_tensor_slices([0 * ROWS, ROWS]).map(positive)]
    assert shapes == [(0, 2), (2, 2)]


def test_a_mask_that_takes_nothing_has_the_shape_of_its_rows():
    def longest(rows):
        found = tf.TensorArray(tf.float32, 1)
        if tf.reduce_any(rows > 9):
            found = found.write(0, tf.boolean_mask(rows, rows[:, 0] > 9)[0])
        return found.stack()

    (stacked,) = tf.data.Dataset.from_tensors(ROWS).map(longest)
    assert stacked.shape == (1, 3)


def test_a_look_leaves_nothing_behind():
    seen = []

    def scatter(rows):
        found, kept = tf.TensorArray(tf.float32, 2), tf.TensorArray(tf.float32, 2)
        last = 1
        if rows[0][0] > 0:
            last = 7
            found = found.scatter([0, 1], rows[:2])
            kept = kept.unstack(rows[:2])
        else:
            seen.append(last)
        return found.stack(), kept.stack(), last

    ((found, kept, last),) = tf.data.Dataset.from_tensors(ROWS).map(scatter)
    assert found.shape == kept.shape == (2, 3)
    assert (int(last), set(seen)) == (1, {1})


def test_a_shape_that_nothing_tells_is_asked_for():
    def nothing(rows):
        found = tf.TensorArray(tf.float32, 1)
        for _ in []:
            found = found.write(0, rows[0])
        if rows[0][0] > 0:
            found = found.write(0, unknown)  # noqa: F821
        return found.stack()

    with pytest.raises(BadArgumentError, match="Nothing was written to element 0"):
        list(tf.data.Dataset.from_tensors(ROWS).map(nothing))
