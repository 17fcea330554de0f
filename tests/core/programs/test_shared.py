"""Programs that several functions share."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax.core import CompiledPrograms, Function


@pytest.fixture
def compilations():
    """How often XLA has compiled a program called `step` so far, in a list of its events."""
    events = []

    def note(event, duration, **details):
        if event.endswith("backend_compile_duration") and details.get("fun_name", "").endswith("(step)"):
            events.append(details)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield events
    jax.monitoring.unregister_event_duration_listener(note)


def _counting(programs, by, *, start=0.0):
    variable = sx.Variable(start)

    def step(x):
        variable.assign_add(jnp.sum(x * by))
        return x + variable

    return variable, Function(step, autograph=False, compiled=programs)


def test_the_same_code_is_compiled_once_for_two_functions(compilations):
    programs = CompiledPrograms()
    for start in (0.0, 10.0):
        variable, function = _counting(programs, 2.0, start=start)
        for _ in range(3):
            result = function(jnp.ones(4))
        assert float(variable.value) == start + 24.0
        np.testing.assert_array_equal(result, np.full(4, start + 25.0))
    assert len(compilations) == 1
    assert len(programs) == 1


@pytest.mark.parametrize("other", [3.0, np.arange(5000.0, dtype=np.float32)])
def test_another_constant_is_another_program(other, compilations):
    programs = CompiledPrograms()
    first = np.zeros(5000, np.float32) if isinstance(other, np.ndarray) else 2.0
    for by in (first, other):
        variable, function = _counting(programs, by)
        function(jnp.ones(5000))
        np.testing.assert_allclose(variable.value, np.sum(np.ones(5000) * by))
    assert len(compilations) == len(programs) == 2


def test_another_shape_is_another_program(compilations):
    programs = CompiledPrograms()
    for size in (3, 4):
        variable, function = _counting(programs, 1.0)
        function(jnp.ones(size))
        assert float(variable.value) == size
    assert len(compilations) == 2


def test_what_calls_back_is_not_shared():
    programs = CompiledPrograms()
    called = []
    for name in ("first", "second"):

        def step(x, name=name):
            jax.debug.callback(lambda value: called.append((name, float(value))), x)
            return x + 1.0

        Function(step, autograph=False, compiled=programs)(jnp.float32(1.0))
    jax.effects_barrier()
    assert called == [("first", 1.0), ("second", 1.0)]
    assert len(programs) == 0


def test_a_shared_program_keeps_no_variable_alive():
    programs = CompiledPrograms()
    variable, function = _counting(programs, 2.0)
    function(jnp.ones(4))
    alive = weakref.ref(variable)
    del variable, function
    gc.collect()
    assert alive() is None
    assert len(programs) == 1


def test_a_shared_program_takes_arguments_elsewhere(compilations):
    programs = CompiledPrograms()
    for device in jax.devices()[:2]:
        variable, function = _counting(programs, 1.0)
        result = function(jax.device_put(jnp.ones(3), device))
        assert result.devices() == {device}
        assert float(variable.value) == 3.0
    assert len(compilations) == 2
