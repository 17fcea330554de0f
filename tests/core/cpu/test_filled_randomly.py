"""First values that are random are drawn without a program, and are those that JAX draws."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core import cpu

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")

# Of shapes that no other test has: what is compiled once is not compiled again.
SHAPES = [(3, 1, 5, 11), (129, 257)]
INITIALIZERS = {
    "uniform": keras.initializers.RandomUniform(-0.3, 0.7, seed=7),
    "normal": keras.initializers.RandomNormal(0.5, 2.0, seed=7),
    "truncated": keras.initializers.TruncatedNormal(0.5, 2.0, seed=7),
    "glorot": keras.initializers.GlorotUniform(seed=2**31 + 5),
    "he": keras.initializers.HeNormal(seed=7),
}


@pytest.fixture(autouse=True)
def _hooks():
    """Keras' functions are replaced with the first strategy."""
    sx.distribute.MirroredStrategy()


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


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", INITIALIZERS)
def test_numbers_are_those_of_jax(name, shape):
    initializer = INITIALIZERS[name]
    ours = cpu.fill_on_host(initializer)(shape, dtype="float32")
    plain = initializer(shape, dtype="float32")
    assert (ours.shape, ours.dtype) == (plain.shape, plain.dtype)
    np.testing.assert_allclose(np.asarray(ours), np.asarray(plain), rtol=2e-6, atol=2e-6)


def test_what_an_initializer_draws_next_is_what_comes_next_in_jax():
    seeds = [keras.random.SeedGenerator(3) for _ in range(2)]
    ours, plain = (keras.initializers.RandomUniform(seed=seed) for seed in seeds)
    for _ in range(2):
        drawn = cpu.fill_on_host(ours)((5,), dtype="float32")
        np.testing.assert_allclose(np.asarray(drawn), np.asarray(plain((5,), dtype="float32")), rtol=1e-6)


def test_the_tails_are_those_of_jax():
    initializer = keras.initializers.RandomNormal(0.0, 1.0, seed=1)
    ours = np.asarray(cpu.fill_on_host(initializer)((1 << 17,), dtype="float32"))
    assert np.abs(ours).max() > 4
    np.testing.assert_allclose(
        ours, np.asarray(initializer((1 << 17,), dtype="float32")), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_other_types_are_drawn_by_jax(dtype):
    initializer = keras.initializers.RandomUniform(seed=1)
    ours, plain = (each((5,), dtype=dtype) for each in (cpu.fill_on_host(initializer), initializer))
    assert ours.dtype == plain.dtype
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(plain))


def test_variables_of_many_shapes_are_drawn_without_a_program(compiled):
    with sx.distribute.MirroredStrategy().scope():
        keras.Variable("glorot_uniform", shape=(2, 1))
        compiled.clear()
        for size in (191, 193, 197):
            keras.Variable("glorot_uniform", shape=(size, 3))
            keras.Variable("he_normal", shape=(3, size))
    assert compiled == []
