"""`tf.TensorArray` in compiled loops, beside what `tests/golden/surface/tensor_array.py` compares with TensorFlow."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

PAIR = np.array([1.0, 2.0], np.float32)


@pytest.mark.parametrize("size", [{"size": 3}, {"size": 0, "dynamic_size": True}])
def test_a_loop_writes_what_it_counts(size):
    @tf.function
    def multiples(x):
        found = tf.TensorArray(tf.float32, **size)
        for i in tf.range(3):
            found = found.write(i, x * tf.cast(i, tf.float32))
        return found.stack()

    assert multiples(tf.constant(PAIR)).tolist() == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    assert multiples.python_function(tf.constant(PAIR)).tolist() == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]


def test_a_while_loop_reads_from_one_and_writes_to_another():
    @tf.function
    def sums(x):
        rows = tf.TensorArray(tf.float32, size=x.shape[0]).unstack(x)
        found = tf.TensorArray(tf.float32, size=x.shape[0])
        total, i = tf.zeros(x.shape[1:]), 0
        while i < tf.cast(x[0, 0] + 1, tf.int32):
            total = total + rows.read(i)
            found = found.write(i, total)
            i += 1
        return found.stack()

    assert sums(tf.constant([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[1.0, 2.0], [4.0, 6.0]]


def test_loops_in_loops_and_conditions():
    @tf.function
    def table(x):
        found = tf.TensorArray(tf.float32, size=6)
        for i in tf.range(2):
            for j in tf.range(3):
                if i + j > 1:
                    found = found.write(i * 3 + j, x * tf.cast(j, tf.float32))
        return found.stack(), found.size()

    values, size = table(tf.constant(10.0))
    assert values.tolist() == [0.0, 0.0, 20.0, 0.0, 10.0, 20.0]
    assert size == 6


def test_gradients_pass_through_what_a_loop_writes():
    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
            for i in tf.range(3):
                found = found.write(i, x * x * tf.cast(i, tf.float32))
            y = tf.reduce_sum(found.stack())
        return tape.gradient(y, x)

    assert gradient(tf.constant(PAIR)).tolist() == [6.0, 12.0]


def test_a_list_of_known_numbers_goes_on_in_a_loop():
    @tf.function
    def mixed(x):
        found = tf.TensorArray(tf.float32, size=4)
        for i in range(2):
            found = found.write(i, x)
        for i in tf.range(2):
            found = found.write(i + 2, x * 3.0)
        return found.stack(), found.concat(), found.gather([3])

    stacked, joined, chosen = mixed(tf.constant(PAIR))
    assert stacked.tolist() == [[1.0, 2.0]] * 2 + [[3.0, 6.0]] * 2
    assert (joined.tolist(), chosen.tolist()) == ([1.0, 2.0] * 2 + [3.0, 6.0] * 2, [[3.0, 6.0]])


def test_replicas_have_arrays_of_their_own():
    strategy = tf.distribute.MirroredStrategy()

    @tf.function
    def step():
        def of_replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            found = tf.TensorArray(tf.int32, size=2)
            for i in tf.range(2):
                found = found.write(i, number + i)
            return found.stack()

        return strategy.run(of_replica)

    found = strategy.experimental_local_results(step())
    assert [each.tolist() for each in found] == [[n, n + 1] for n in range(len(found))]


def test_a_pipeline_has_them_on_the_host():
    def squares(x):
        found = tf.TensorArray(tf.int64, size=2)
        return found.write(0, x).write(1, x * x).stack()

    rows = list(tf.data.Dataset.range(3).map(squares).as_numpy_iterator())
    assert [type(row) for row in rows] == [np.ndarray] * 3
    assert rows[2].tolist() == [2, 4]


def test_sizes_that_only_the_running_program_knows_are_refused():
    def grown(x):
        found = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        i = 0
        while tf.reduce_sum(x) < 10.0:
            x = x * 2.0
            found = found.write(i, x)
            i += 1
        return found.stack()

    with pytest.raises(errors.TracingError, match="instead of dynamic_size=True"):
        tf.function(grown)(tf.constant(PAIR))
    assert grown(tf.constant(PAIR)).shape == (2, 2)

    def sometimes(x):
        found = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(3):
            if x[0] > tf.cast(i, tf.float32):
                found = found.write(i, x)
        return found.stack()

    with pytest.raises(errors.TracingError, match="in every iteration"):
        tf.function(sometimes)(tf.constant(PAIR))
    with pytest.raises(errors.BadTypeError, match="the size of a TensorArray before it runs"):
        tf.function(lambda n: tf.TensorArray(tf.float32, n).size())(tf.constant(3))


def test_wrong_uses_say_what_was_expected():
    array = tf.TensorArray(tf.float32, 2)
    with pytest.raises(errors.BadArgumentError, match="made with a size"):
        tf.TensorArray(tf.float32)
    with pytest.raises(errors.BadArgumentError, match="has no element 2"):
        array.write(2, 1.0)
    with pytest.raises(errors.BadArgumentError, match="has no element 2"):
        array.read(2)
    with pytest.raises(errors.BadArgumentError, match="Nothing was written to element 0"):
        array.read(0)
    with pytest.raises(errors.BadTypeError, match="holds one dtype"):
        array.write(0, tf.constant(1))
    with pytest.raises(errors.BadArgumentError, match="takes as many rows at most"):
        array.unstack(tf.ones([3]))
    with pytest.raises(errors.BadArgumentError, match="elements have one shape"):
        array.write(0, 1.0).write(1, [1.0, 2.0])
    array.read(0)
    with pytest.raises(errors.BadArgumentError, match="was read before"):
        array.read(0)
    with pytest.raises(errors.BadArgumentError, match=r"Use tf\.GradientTape"):
        array.grad("loss")
    assert repr(array) == "TensorArray(dtype=float32, size=2, element_shape=())"
    assert (array.handle, array.close(), array.flow, array.dynamic_size) == (None, None, 0, False)


# TensorFlow 2.21, as all numbers of what is cleared.
def test_what_was_read_is_zero_in_what_is_stacked():
    array = tf.TensorArray(tf.float32, 2).write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    assert array.read(0).numpy().tolist() == [1.0, 2.0]
    assert array.stack().numpy().tolist() == [[0.0, 0.0], [3.0, 4.0]]
    assert array.concat().numpy().tolist() == [0.0, 0.0, 3.0, 4.0]
    assert array.gather([1, 0]).numpy().tolist() == [[3.0, 4.0], [0.0, 0.0]]
    array.read(1)
    assert array.stack().numpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert array.element_shape.as_list() == [2]
    with pytest.raises(errors.BadArgumentError, match="elements have one shape"):
        array.write(0, [1.0])
    with pytest.raises(errors.BadArgumentError, match="was read before"):
        array.read(1)


def test_what_was_unstacked_and_read_has_no_shape_to_be_zero_in():
    array = tf.TensorArray(tf.float32, 2).unstack([[1.0, 5.0], [2.0, 6.0]])
    assert array.gather([0, 0]).numpy().tolist() == [[1.0, 5.0], [1.0, 5.0]]
    array.read(0)
    with pytest.raises(errors.BadArgumentError, match="was read before"):
        array.stack()
    assert array.write(0, [7.0, 7.0]).stack().numpy().tolist() == [[7.0, 7.0], [2.0, 6.0]]


def test_nothing_is_cleared_where_tensorflow_builds_a_graph():
    def last(x):
        array = tf.TensorArray(tf.int64, 2).write(0, x).write(1, x + 1)
        return array.read(0) + array.read(0), array.stack()

    wanted = [6, [3, 4]]
    assert [part.numpy().tolist() for part in tf.function(last)(tf.constant(3, tf.int64))] == wanted
    (made,) = tf.data.Dataset.range(3, 4).map(last)
    assert [part.numpy().tolist() for part in made] == wanted


# TensorFlow 2.21.
def test_the_state_of_reduce_and_scan_may_be_an_array():
    numbers = tf.data.Dataset.range(3)

    def empty():
        return tf.TensorArray(tf.int64, 3, element_shape=[])

    found = numbers.reduce(empty(), lambda array, x: array.write(tf.cast(x, tf.int32), x * 2))
    assert found.stack().tolist() == [0, 2, 4]
    sizes = numbers.scan(empty(), lambda array, x: (array.write(tf.cast(x, tf.int32), x), array.size()))
    assert [int(size) for size in sizes] == [3, 3, 3]
    sums = numbers.scan(empty(), _write_and_sum)
    assert [int(total) for total in sums] == [0, 1, 3]


def _write_and_sum(array, x):
    array = array.write(tf.cast(x, tf.int32), x)
    return array, tf.reduce_sum(array.stack())


@pytest.mark.parametrize(
    ("x", "expected"), [(2.0, [[2, 0], [2, 0], [2, 5], [2]]), (-2.0, [[0, 0], [0, -2], [0, 5], [-2]])]
)
def test_branches_write_to_elements_whose_numbers_are_known(x, expected):
    """The numbers are those of TensorFlow 2.21."""

    @tf.function
    def write(x):
        one = other = tf.TensorArray(tf.float32, size=2)
        written = tf.TensorArray(tf.float32, size=2).write(1, 5.0)
        grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        if x > 0:
            one, other, written = one.write(0, x), other.write(0, x), written.write(0, x)
            grown = grown.write(grown.size(), x)
        else:
            other = other.write(1, x)
            grown = grown.write(grown.size(), x)
        return one.stack(), other.stack(), written.stack(), grown.stack()

    assert [np.asarray(made).tolist() for made in write(tf.constant(x))] == expected
