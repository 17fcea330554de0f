"""Python functions as operations, beside what `tests/golden/surface/control.py` compares with TensorFlow."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

PAIR = tf.TensorSpec([2], tf.float32)


def test_a_compiled_function_calls_python_whenever_it_runs():
    seen = []

    def note(x):
        seen.append(x.copy())
        return x * len(seen)

    @tf.function
    def three_times(x):
        for _ in tf.range(3):
            x = tf.numpy_function(note, [x], PAIR)
        return x

    assert three_times(tf.constant([1.0, 2.0])).tolist() == [6.0, 12.0]
    assert three_times(tf.constant([1.0, 2.0])).tolist() == [120.0, 240.0]
    assert [type(x) for x in seen] == [np.ndarray] * 6


def test_a_compiled_function_gives_python_texts_as_they_are():
    called = tf.function(
        lambda x: tf.py_function(
            lambda text, y: (y * 2.0, len(text)), ["abc", x], [PAIR, tf.TensorSpec([], tf.int32)]
        )
    )
    doubled, length = called(tf.constant([1.0, 2.0]))
    assert (doubled.tolist(), length.item()) == ([2.0, 4.0], 3)


def test_every_replica_calls_it():
    strategy = tf.distribute.MirroredStrategy()

    def of_replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.numpy_function(lambda n: n * 10, [number], tf.TensorSpec([], tf.int32))

    results = strategy.run(of_replica)
    expected = [10 * number for number in range(strategy.num_replicas_in_sync)]
    assert [each.item() for each in strategy.experimental_local_results(results)] == expected


def test_rows_of_a_vectorized_map_are_given_one_by_one():
    rows = tf.vectorized_map(
        lambda row: tf.numpy_function(lambda y, z: y + z, [row, 1.0], PAIR), tf.ones([3, 2])
    )
    assert rows.tolist() == [[2.0, 2.0]] * 3


def test_a_pipeline_calls_it_at_once():
    numbers = tf.data.Dataset.range(3)
    doubled = numbers.map(lambda x: tf.numpy_function(lambda y: y * 2, [x], tf.int64))
    assert [(type(x), x) for x in doubled.as_numpy_iterator()] == [
        (np.int64, 0),
        (np.int64, 2),
        (np.int64, 4),
    ]
    texts = tf.data.Dataset.from_tensor_slices(["a", "bc"])
    assert list(texts.map(lambda x: tf.numpy_function(lambda y: y + b"!", [x], tf.string))) == [b"a!", b"bc!"]
    lengths = texts.map(lambda x: tf.py_function(lambda y: (len(y), y.numpy()), [x], [tf.int32, tf.string]))
    assert list(lengths) == [(1, b"a"), (2, b"bc")]


def test_as_decorators():
    @tf.numpy_function(Tout=tf.float32)
    def double(x):
        """Double it."""
        return x * 2

    assert double(tf.constant([1.0])).tolist() == [2.0]
    assert double.__doc__ == "Double it."
    assert tf.py_function(Tout=tf.int32)(lambda: 3)().item() == 3
    assert tf.compat.v1.py_func(lambda x: x + 1, [np.float32(1)], tf.float32).item() == 2.0
    with pytest.raises(errors.BadArgumentError, match="needs Tout"):
        tf.numpy_function()


def test_a_gradient_through_python_in_a_compiled_function_is_refused():
    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(lambda z: z * z, [x], PAIR)
        return tape.gradient(y, x)

    with pytest.raises(errors.TapeError, match="stratax_call"):
        gradient(tf.constant([1.0, 2.0]))


def test_a_compiled_function_has_to_know_shapes():
    for spec in (tf.float32, tf.TensorSpec([None], tf.float32), tf.TensorSpec(None, tf.float32)):
        with pytest.raises(errors.BadArgumentError, match=r"Tout=tf\.TensorSpec\(shape, dtype\)"):
            tf.function(lambda x, spec=spec: tf.numpy_function(lambda y: y, [x], spec))(tf.ones([2]))
    with pytest.raises(errors.BadTypeError, match="can't return text"):
        tf.function(lambda x: tf.numpy_function(str, [x], tf.TensorSpec([], tf.string)))(tf.ones([2]))
    with pytest.raises(errors.BadArgumentError, match=r"another type.*Expected: float32\[2\]"):
        tf.function(lambda x: tf.numpy_function(lambda y: y[:1], [x], PAIR))(tf.ones([2]))


def test_results_are_as_many_as_were_declared():
    with pytest.raises(errors.BadArgumentError, match="returned 1 values, and Tout has 2"):
        tf.py_function(lambda: 1.0, [], [tf.float32, tf.float32])
    with pytest.raises(errors.BadTypeError, match="another dtype than Tout"):
        tf.py_function(lambda: tf.constant(1), [], tf.float32)
    with pytest.raises(errors.BadArgumentError, match="Tout must say the dtype"):
        tf.numpy_function(lambda: 1.0, [])
