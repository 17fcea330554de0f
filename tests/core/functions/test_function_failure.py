"""Whatever goes wrong in a compiled function, every variable stays readable with its last good value."""

import signal
import threading
import time

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core import programs


def test_an_exception_in_python_leaves_variables_as_they_were():
    v = sx.Variable(1.0)

    @sx.function
    def step(fail):
        v.assign_add(1.0)
        if fail:
            raise KeyError("mine")
        return v

    step(False)
    with pytest.raises(KeyError, match="mine"):
        step(True)
    assert float(v.value) == 2
    assert float(step(False)) == 3


def test_a_first_call_that_fails_creates_variables_and_the_next_one_finds_them():
    dense = keras.layers.Dense(2)
    fail = [True]

    @sx.function
    def step(x):
        y = dense(x)
        if fail:
            raise ValueError("after building")
        return y

    with pytest.raises(ValueError, match="after building"):
        step(np.ones((1, 3), "float32"))
    kernel = dense.kernel.numpy()
    assert kernel.shape == (3, 2)
    fail.clear()
    np.testing.assert_allclose(step(np.ones((1, 3), "float32")), kernel.sum(0)[None], rtol=1e-6)


@pytest.mark.parametrize("how", ["pure", "io", "debug"])
def test_an_exception_in_the_running_program_leaves_variables_as_they_were(how):
    v, w = sx.Variable(np.zeros(4, "float32")), sx.Variable(0.0)
    limit = [2.0]

    def check(x):
        values = np.asarray(x)  # a callback that computed with JAX would wait for the device it keeps busy
        if values.max() > limit[0]:
            raise RuntimeError("too much")
        return values

    @sx.function
    def step():
        v.assign_add(jnp.ones(4))
        if how == "pure":
            checked = jax.pure_callback(check, jax.ShapeDtypeStruct((4,), "float32"), v.value)
        elif how == "io":
            checked = jax.experimental.io_callback(check, jax.ShapeDtypeStruct((4,), "float32"), v.value)
        else:
            jax.debug.callback(check, v.value)
            checked = v.value
        w.assign(checked.sum())

    step()
    step()

    def step_and_wait():
        step()
        jax.effects_barrier()

    with pytest.raises(Exception, match="too much"):
        step_and_wait()
    if how != "debug":  # a debug callback may raise after the step has been finished
        assert v.numpy().tolist() == [2, 2, 2, 2]
        assert float(w.value) == 8
    assert np.isfinite(v.numpy()).all()
    limit[0] = 100.0
    before = float(w.value)
    step()
    assert float(w.value) == before + 4


def test_a_function_whose_program_calls_back_is_recognised_in_inner_programs():
    def f(x):
        return jax.lax.scan(lambda c, r: (jax.pure_callback(np.sin, r, r), r), x[0], x)

    assert programs.calls_back(jax.make_jaxpr(f)(jnp.ones(3)).jaxpr)
    assert not programs.calls_back(jax.make_jaxpr(lambda x: jnp.sin(x))(jnp.ones(3)).jaxpr)


def test_arrays_taken_out_of_a_variable_stay_valid():
    v = sx.Variable(np.arange(4, dtype="float32"))
    step = sx.function(lambda: v.assign_add(jnp.ones(4)))
    step()
    step()
    taken, viewed, listed = v.value, np.asarray(v.value), [v.value]
    result = step()
    step()
    for array in (taken, viewed, listed[0]):
        assert np.asarray(array).tolist() == [2, 3, 4, 5]
    assert np.asarray(result).tolist() == [3, 4, 5, 6]
    assert v.numpy().tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("donate", [True, False])
def test_a_variables_own_buffer_is_reused_where_nobody_else_holds_it(donate):
    v = sx.Variable(np.zeros(1000, "float32"))
    step = sx.function(lambda: v.assign_add(jnp.ones(1000)) is None, donate=donate)
    step()
    shard = v.value.addressable_data(0)  # the buffer without a reference to the array
    step()
    assert shard.is_deleted() == donate
    assert float(v.value[0]) == 2


def test_variables_that_share_an_array_part_when_one_is_assigned():
    array = jnp.arange(3.0)
    v, w = sx.Variable(array), sx.Variable(array)
    w._value = v._value  # as assigning one to the other outside of functions does
    step = sx.function(lambda: (v.assign_add(jnp.ones(3)), w.assign(w * 2)))
    step()
    assert v.numpy().tolist() == [1, 2, 3]
    assert w.numpy().tolist() == [0, 2, 4]
    assert np.asarray(array).tolist() == [0, 1, 2]
    w.assign(v)
    sx.function(lambda: v.assign_add(jnp.ones(3)))()
    assert w.numpy().tolist() == [1, 2, 3]


def test_a_variables_array_can_be_an_argument_too():
    v = sx.Variable(np.ones(3, "float32"))
    step = sx.function(lambda x: v.assign(v + x))
    step(v.value)
    step(v.value)
    assert v.numpy().tolist() == [4, 4, 4]


def test_interrupts_at_any_moment_leave_good_values():
    """Ctrl-C again and again while a loop steps: both variables always hold the same, whole number of steps."""
    v, w = sx.Variable(np.zeros(64, "float32")), sx.Variable(np.zeros(64, "float32"))

    @sx.function
    def step():
        v.assign_add(jnp.ones(64))
        w.assign_add(jnp.ones(64))
        return v.value

    step()
    stop, armed = threading.Event(), [False]
    main = threading.main_thread().ident
    random = np.random.default_rng(0)

    def handler(number, frame):
        if armed[0]:
            armed[0] = False  # no interrupt while this one is handled
            raise KeyboardInterrupt

    def interrupt():
        while not stop.wait(random.uniform(0.0005, 0.01)):
            signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    thread = threading.Thread(target=interrupt, daemon=True)
    interrupts, steps, last = 0, 1, 1
    deadline = time.monotonic() + 60
    thread.start()
    try:
        while interrupts < 60 and time.monotonic() < deadline:
            try:
                armed[0] = True
                while True:
                    step()
                    steps += 1
            except KeyboardInterrupt:
                interrupts += 1
            values = v.numpy(), w.numpy()
            assert values[0].min() == values[0].max() == values[1].min() == values[1].max()
            assert values[0][0] >= last
            last = values[0][0]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        armed[0] = False
        stop.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert interrupts == 60
    assert steps <= v.numpy()[0] <= steps + interrupts


def test_a_users_handler_gets_the_interrupt_once_the_step_is_over():
    v = sx.Variable(0.0)
    seen = []

    def during(x):
        signal.raise_signal(signal.SIGINT)
        return x

    @sx.function
    def step():
        v.assign(jax.pure_callback(during, jax.ShapeDtypeStruct((), "float32"), v + 1))

    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append((number, float(v.value))))
    try:
        step()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [(signal.SIGINT, 1.0)]


def test_functions_step_in_other_threads():
    v = sx.Variable(0.0)
    step = sx.function(lambda: v.assign_add(1.0))
    failures = []

    def work():
        try:
            for _ in range(20):
                step()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []
    assert float(v.value) == 20


def test_a_variable_whose_initializer_raises_is_no_other_functions_business():
    def failing(shape, dtype=None):
        raise KeyError("no first value")

    @sx.function
    def step():
        return keras.Variable(failing, shape=(2,)).value

    with pytest.raises(KeyError, match="no first value"):
        step()
    assert int(sx.function(lambda: jnp.ones((), int))()) == 1
