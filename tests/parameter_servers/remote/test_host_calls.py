"""Prints, Python functions and assertions of scheduled functions happen in order, and their errors reach `join`."""

import io
import os
import threading

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.parameter_servers.remote import _host_calls
from tests.parameter_servers.coordination.clusters import coordinator_of, in_process, processes

SCALAR = tf.TensorSpec([], tf.float32)


@pytest.fixture(scope="module")
def coordinator():
    with in_process() as coordinator:
        yield coordinator


def result(coordinator, function, *args):
    value = coordinator.schedule(function, args=args)
    coordinator.join()
    return value.fetch()


def refused(coordinator, function, *args):
    """The error of a function, which does not come again."""
    with pytest.raises(errors.StrataxError) as found:
        result(coordinator, function, *args)
    coordinator.join()
    return found.value


def test_everything_that_calls_python_does_so_in_the_order_of_the_program(coordinator, capsys):
    @sx.function
    def step(x, limit):
        tf.print("begin", {"x": x})
        y = tf.py_function(lambda value: print("python", value.numpy()) or value * 2, [x], SCALAR)
        tf.print("y", y)
        i = tf.constant(0)
        while i < limit:
            if i == 1:
                tf.print("one", y)
            tf.debugging.assert_less(i, 5)
            i += 1
        tf.print("end")
        return y + 1

    assert result(coordinator, step, jnp.float32(3), jnp.int32(3)) == 7.0
    out, err = capsys.readouterr()
    assert out == "python 3.0\n"
    assert err == "begin {'x': 3}\ny 6\none 6\nend\n"
    assert result(coordinator, step, jnp.float32(4), jnp.int32(1)) == 9.0
    assert capsys.readouterr().err == "begin {'x': 4}\ny 8\nend\n"


def test_a_python_function_is_called_in_this_process(coordinator):
    with coordinator.strategy.scope():
        v = sx.Variable(1.0)
    seen, lock = [], threading.Lock()

    def remember(x):
        # None of these would be the same elsewhere.
        with lock:
            seen.append((float(x), float(v.numpy())))
        return x

    @sx.function
    def step(x):
        v.assign_add(1.0)
        return tf.numpy_function(remember, [x], SCALAR) + 1

    assert [result(coordinator, step, jnp.float32(x)) for x in (1, 2)] == [2.0, 3.0]
    # What a function changes is pushed at its end.
    assert seen == [(1.0, 1.0), (2.0, 2.0)]


class Shown:
    """What can't be sent to a worker, and shows how things stand here."""

    def __init__(self, variable):
        self.variable, self.lock = variable, threading.Lock()

    def __repr__(self):
        return f"<{float(self.variable.numpy())}>"


def test_what_only_this_process_has_is_printed_here(coordinator, capsys):
    with coordinator.strategy.scope():
        v = sx.Variable(1.0)
    stream, lines = io.StringIO(), []

    @sx.function
    def step(x):
        tf.print("to a stream", x, output_stream=stream)
        tf.print("to a function", x, output_stream=lines.append)
        tf.print("of", Shown(v), x)

    result(coordinator, step, jnp.float32(1))
    v.assign(5.0)
    result(coordinator, step, jnp.float32(2))
    assert stream.getvalue() == "to a stream 1\nto a stream 2\n"
    assert lines == ["to a function 1", "to a function 2"]
    assert capsys.readouterr().err == "of <1.0> 1\nof <5.0> 2\n"


def test_an_assertion_that_fails_is_an_error_of_join_and_changes_nothing(coordinator, capsys):
    with coordinator.strategy.scope():
        v = sx.Variable(1.0)

    @sx.function
    def step(x):
        v.assign_add(10.0)
        tf.debugging.assert_less(x, 2.0, message="too big")
        tf.print("behind")
        return v.read_value()

    assert result(coordinator, step, jnp.float32(1)) == 11.0
    assert capsys.readouterr().err == "behind\n"
    error = refused(coordinator, step, jnp.float32(5))
    assert type(error) is tf.errors.InvalidArgumentError
    assert str(error).startswith(
        "too big. Condition x < y did not hold. 1 of 1 elements; the first: x = 5.0, y = 2.0."
    )
    # What comes behind is not done, as in TensorFlow.
    assert capsys.readouterr().err == ""
    assert float(v.numpy()) == 11.0
    assert result(coordinator, step, jnp.float32(0)) == 21.0


def test_numbers_are_checked(coordinator):
    @sx.function
    def step(x):
        tf.debugging.Assert(x < 9.0, ["x is", x])
        return tf.debugging.check_numerics(tf.math.log(x), "bad log")

    assert result(coordinator, step, jnp.float32(1)) == 0.0
    assert "bad log : Tensor had NaN values." in str(refused(coordinator, step, jnp.float32(-1)))
    assert "Summarized data: x is\n9.0" in str(refused(coordinator, step, jnp.float32(9)))


# TensorFlow 2.21 raises these, with a cluster in the process.
@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError("wrong"), tf.errors.InvalidArgumentError),
        (TypeError("wrong"), tf.errors.InvalidArgumentError),
        (KeyError("wrong"), tf.errors.UnknownError),
        (StopIteration("wrong"), tf.errors.OutOfRangeError),
        (NotImplementedError("wrong"), tf.errors.UnimplementedError),
        (MemoryError("wrong"), tf.errors.ResourceExhaustedError),
        (tf.errors.AbortedError(None, None, "wrong"), tf.errors.UnknownError),
    ],
)
def test_an_error_of_a_python_function_is_an_error_of_join(coordinator, raised, expected):
    def fails(x):
        raise raised

    @sx.function
    def step(x):
        return tf.py_function(fails, [x], SCALAR)

    error = refused(coordinator, step, jnp.float32(1))
    assert type(error) is expected
    assert f"{type(raised).__name__}: " in str(error)
    assert "wrong" in str(error)


def test_a_python_function_that_breaks_its_word_is_named(coordinator):
    @sx.function
    def step(x):
        return jax.pure_callback(lambda value: np.zeros(3, np.float32), x, x)

    assert "Expected: (((), 'float32'),). Received: (((3,), 'float32'),)." in str(
        refused(coordinator, step, jnp.float32(1))
    )


def test_callbacks_of_jax_are_called(coordinator, capsys):
    @sx.function
    def step(x):
        jax.debug.print("first {x}", x=x)
        y = jax.experimental.io_callback(lambda value: value.at[0].set(7), x, x, ordered=True)
        jax.debug.callback(lambda value: print("second", value), y)
        return jax.pure_callback(lambda value: np.asarray(value) + 1, y, y)

    assert result(coordinator, step, jnp.arange(2.0)).tolist() == [8.0, 2.0]
    assert capsys.readouterr().out == "first [0. 1.]\nsecond [7. 1.]\n"


def test_a_step_that_waits_for_a_lost_coordinator_is_given_up(coordinator):
    (link,) = coordinator._links
    seen = []

    def lost(header, arrays=()):
        raise errors.PeerLostError("on purpose")

    def breaks_once(x):
        seen.append(float(x))
        if len(seen) == 1:
            link._life.connection.ask = lost
        return x

    @sx.function
    def step(x):
        return tf.numpy_function(breaks_once, [x], SCALAR) + 1

    assert result(coordinator, step, jnp.float32(1)) == 2.0
    assert seen == [1.0, 1.0]


def test_what_workers_can_not_do_is_refused(coordinator, tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))

    @sx.function
    def step(x):
        with writer.as_default():
            tf.summary.scalar("x", x, step=1)
        return x

    error = refused(coordinator, step, jnp.float32(1))
    assert isinstance(error, errors.TracingError)
    assert "a summary" in str(error)
    with pytest.raises(errors.TracingError, match="compute on CPUs or GPUs. Received: 'tpu'"):
        _host_calls.check_platform("tpu")


def test_a_step_that_trains_and_looks_up_rows_prints_and_asserts(coordinator, capsys):
    strategy = coordinator.strategy
    with strategy.scope():
        table = sx.Variable(np.ones((20000, 4), np.float32))
        optimizer = keras.optimizers.SGD(1.0)

    @sx.function
    def step(ids):
        def replica_fn(ids):
            with tf.GradientTape() as tape:
                rows = tf.gather(table, ids)
                tf.debugging.assert_positive(rows, message="rows")
                loss = tf.reduce_sum(rows)
            tf.print("loss", loss)
            optimizer.apply_gradients([(tape.gradient(loss, table), table)])
            return loss

        return strategy.run(replica_fn, args=(ids,))

    assert result(coordinator, step, jnp.int32([1, 2])) == 8.0
    assert capsys.readouterr().err == "loss 8\n"
    assert table.numpy()[:4, 0].tolist() == [1, 0, 0, 1]
    assert "rows. Condition x > 0" in str(refused(coordinator, step, jnp.int32([2, 3])))
    assert table.numpy()[:4, 0].tolist() == [1, 0, 0, 1]


class Printing(keras.optimizers.SGD):
    def update_step(self, gradient, variable, learning_rate):
        tf.print("rate", learning_rate)
        super().update_step(gradient, variable, learning_rate)


def test_an_update_on_servers_that_prints_is_refused(coordinator):
    with coordinator.strategy.scope():
        v = sx.Variable(1.0)
        optimizer = Printing(1.0)

    @sx.function
    def step(x):
        optimizer.apply_gradients([(x, v)])

    error = refused(coordinator, step, jnp.float32(1))
    assert isinstance(error, errors.TracingError)
    assert "Call it in the step, before apply_gradients" in str(error)


@pytest.mark.programs
def test_a_function_whose_worker_dies_prints_again(tmp_path):
    log = tmp_path / "log"
    with processes(1, 1) as tasks, coordinator_of(tasks.cluster) as coordinator:
        seen = []

        def kill_once(x):
            seen.append(os.getpid())
            if len(seen) == 1:
                tasks.signal("worker", 0)
                tasks.start("worker", 0)
            return x

        @sx.function
        def step(x):
            tf.print("x is", x, output_stream=f"file://{log}")
            return tf.numpy_function(kill_once, [x], SCALAR)

        @sx.function
        def fails(x):
            tf.debugging.assert_less(x, 0.0, message="there")
            return x

        assert result(coordinator, step, jnp.float32(1)) == 1.0
        assert log.read_text() == "x is 1\n" * 2
        assert seen == [os.getpid()] * 2
        assert "there. Condition x < y" in str(refused(coordinator, fails, jnp.float32(1)))
