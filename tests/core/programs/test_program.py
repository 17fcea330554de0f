"""Programs: where variables are put, how Ctrl-C is held back, and what is compiled."""

import signal
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax.core.storage import _interrupts


def test_ctrl_c_is_held_back_until_the_block_is_over():
    done = []

    def interrupted_block():
        with _interrupts.InterruptDeferred():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        interrupted_block()
    assert done == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_ctrl_c_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with _interrupts.InterruptDeferred():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_python_does_not_know_is_left_alone(monkeypatch):
    installed = []
    foreign = types.SimpleNamespace(
        getsignal=lambda number: None, signal=lambda *args: installed.append(args)
    )
    monkeypatch.setattr(_interrupts, "_signal", foreign)
    with _interrupts.InterruptDeferred():
        pass
    assert installed == []


def test_variables_that_are_only_read_are_sent_to_the_devices_once():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    v = sx.Variable(np.ones(3, "float32"))  # outside of the scope, so on one device
    assert v.value.devices() == {jax.devices()[0]}
    step = sx.function(lambda: strategy.run(lambda: v * 2))
    step()
    assert v.value.devices() == set(strategy.devices)
    placed = v.value
    step()
    assert v.value is placed
    v.assign(np.full(3, 5, "float32"))
    assert float(step().values[1][0]) == 10


def test_arguments_committed_to_another_device_are_moved():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    v = sx.Variable(1.0)
    v._value = jax.device_put(v.value, jax.devices()[5])
    x = jax.device_put(jnp.ones(2), jax.devices()[6])
    step = sx.function(lambda x: strategy.run(lambda x: v.assign_add(x.sum()), args=(x,)))
    assert [float(value) for value in step(x).values] == [3, 3]
    assert float(v.value) == 3
    assert v.value.devices() == set(strategy.devices)


def test_values_of_arguments_are_no_part_of_the_program():
    f = sx.function(lambda x: x.sum())
    assert [float(f(np.full(2, n, "float32"))) for n in range(3)] == [0, 2, 4]
    assert f.num_programs == 1
