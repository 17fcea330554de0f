"""First values that are one number are made without a program, and are what Keras' initializers give."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core import cpu

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")

# Of a shape that no other test has: what is compiled once is not compiled again.
SHAPE = (3, 1, 5, 1, 7)


@pytest.fixture
def compiled():
    """How many programs have been compiled since."""
    events = []

    def listener(event, *_, **__):
        if event == "/jax/core/compile/backend_compile_duration":
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listener)
    yield events
    jax.monitoring.unregister_event_duration_listener(listener)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_values_and_types_are_those_of_the_initializer(name, dtype):
    initializer = keras.initializers.get(name)
    ours, plain = cpu.fill_on_host(initializer)(SHAPE, dtype=dtype), initializer(SHAPE, dtype=dtype)
    assert ours.dtype == plain.dtype
    assert ours.shape == plain.shape
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(plain))


def test_a_variable_of_zeros_and_a_slot_beside_it_are_made_without_a_program(compiled):
    with sx.distribute.MirroredStrategy().scope():
        variable = keras.Variable("zeros", shape=SHAPE)
        optimizer = keras.optimizers.SGD(momentum=0.5)
        optimizer.build([variable])
        assert compiled == []
    np.testing.assert_array_equal(np.asarray(optimizer.momentums[0]), np.zeros(SHAPE))


def test_a_type_that_jax_has_not_is_left_to_jax():
    zeros = cpu.fill_on_host(keras.initializers.Zeros())
    with pytest.warns(UserWarning, match="int64"):
        assert zeros((2,), dtype="int64").dtype == np.int32


def test_other_initializers_give_what_they_give():
    class Twos(keras.initializers.Ones):
        def __call__(self, shape, dtype=None):
            return 2 * super().__call__(shape, dtype)

    for initializer in (Twos(), keras.initializers.Constant(2)):
        values = cpu.fill_on_host(initializer)(SHAPE, dtype="float32")
        np.testing.assert_array_equal(np.asarray(values), np.full(SHAPE, 2, np.float32))


def test_what_is_traced_is_left_to_the_trace():
    initializer = keras.initializers.Zeros()

    def trace(x):
        assert cpu.fill_on_host(initializer) is initializer
        return x

    jax.jit(trace)(1.0)


def test_values_may_be_donated():
    value = cpu.fill_on_host(keras.initializers.Zeros())((4096, 16))
    twice = jax.jit(lambda x: x + 1, donate_argnums=0)
    assert float(jnp.max(twice(value))) == 1
    assert value.is_deleted()
