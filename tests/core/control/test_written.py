"""Growing arrays where branches meet: one of them wrote first; TensorFlow's numbers are in `test_tensor_array.py`."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import TracingError


@pytest.mark.parametrize(("x", "expected"), [(2.0, [0, 2, 1]), (-2.0, [0, 0, 1])])
def test_arrays_in_tuples_are_put_together(x, expected):
    @tf.function
    def write(x):
        state = (tf.TensorArray(tf.float32, size=3).write(2, 1.0), tf.constant(0))
        if x > 0:
            state = (state[0].write(1, x), state[1] + 1)
        return state[0].stack(), state[1]

    written, count = write(tf.constant(x))
    assert np.asarray(written).tolist() == expected
    assert int(count) == (x > 0)


def test_an_array_that_grows_in_one_branch_only_is_refused():
    @tf.function
    def write(x):
        found = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        if x > 0:
            found = found.write(found.size(), x)
        return found.stack()

    with pytest.raises(
        TracingError, match="'found'.* grows in one branch only of an `if`.*Make the array with size="
    ):
        write(tf.constant(1.0))
