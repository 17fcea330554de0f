"""What is told of a function when a Dataset is made; which errors, and for what, TensorFlow 2.21 says."""

import subprocess
import sys

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadTypeError, DataError

NUMBERS = tf.data.Dataset.range(3)
Reducer = tf.data.experimental.Reducer


def reduced(key, init, reduce):
    reducer = Reducer(init, reduce, lambda state: state)
    return NUMBERS.apply(tf.data.experimental.group_by_reducer(key, reducer))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: NUMBERS.flat_map(lambda x: x), BadTypeError, "flat_map has to return a Dataset"),
        (lambda: NUMBERS.interleave(lambda x: x), BadTypeError, "interleave has to return a Dataset"),
        (lambda: NUMBERS.scan(np.int64(0), lambda s, x: s), BadTypeError, "returns a pair"),
        (lambda: NUMBERS.scan(np.int64(0), lambda s, x: (s, x, x)), BadTypeError, "returns a pair"),
        (
            lambda: NUMBERS.scan(np.int64(0), lambda s, x: (tf.cast(s, tf.float32), x)),
            BadTypeError,
            "different dtype",
        ),
        (lambda: NUMBERS.scan(np.int64(0), lambda s, x: ((s, s), x)), BadTypeError, "different structure"),
        (lambda: NUMBERS.group_by_window(lambda x: "a", lambda k, d: d, 3), DataError, "one int64"),
        (
            lambda: NUMBERS.group_by_window(lambda x: tf.cast(x, tf.float32), lambda k, d: d, 3),
            DataError,
            "one int64",
        ),
        (lambda: NUMBERS.group_by_window(lambda x: x, lambda k, d: k, 3), BadTypeError, "return a Dataset"),
        (lambda: reduced(lambda x: "a", lambda k: 0, lambda s, x: s), DataError, "one int64"),
        (lambda: reduced(lambda x: x, lambda k: 0, lambda s, x: "a"), BadTypeError, "different dtype"),
        (lambda: reduced(lambda x: x, lambda k: 0, lambda s, x: (s, x)), BadTypeError, "different structure"),
        (lambda: NUMBERS.filter(lambda x: x), DataError, "return one bool"),
        (lambda: NUMBERS.take_while(lambda x: x), DataError, "return one bool"),
        (
            lambda: NUMBERS.bucket_by_sequence_length(lambda x: "a", [2], [2, 2]),
            BadTypeError,
            "return one whole number",
        ),
    ],
)
def test_a_result_that_can_never_fit_is_told_when_the_dataset_is_made(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_what_a_function_raises_of_zeros_is_left_for_the_element():
    made = tf.data.Dataset.range(1, 4).map(lambda x: 6 // int(x))
    assert [int(x) for x in made] == [6, 3, 2]
    made = tf.data.Dataset.from_tensor_slices([[1.0, 2.0]]).filter(lambda x: tf.reshape(x, [3])[0] > 0)
    with pytest.raises(Exception, match="reshape"):
        list(made)


def test_a_function_that_somebody_could_watch_is_not_called():
    seen = []

    def watched(x):
        seen.append(x)
        return x

    made = NUMBERS.flat_map(watched)
    assert seen == []
    with pytest.raises(BadTypeError, match="has to return a Dataset"):
        list(made)


def test_functions_that_fit_are_made_without_reading_anything():
    def broken():
        raise RuntimeError("read")
        yield

    source = tf.data.Dataset.from_generator(broken, output_signature=tf.TensorSpec((), tf.int64))
    source.map(lambda x: x + 1).filter(lambda x: x > 1).scan(np.int64(0), lambda s, x: (s + x, s))
    with pytest.raises(Exception, match="read"):
        list(source)


def test_making_a_dataset_starts_no_device():
    program = """
import stratax.tf as tf, jax.numpy as jnp
from jax._src import xla_bridge
ds = tf.data.Dataset.range(3).map(lambda x: jnp.sin(x)).filter(lambda x: tf.abs(x) < 2)
ds = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32) / 2).batch(2)
print(xla_bridge.backends_are_initialized())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "False\n", done.stderr
