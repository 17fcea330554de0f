"""Where no memory is left, the largest variables are named, and the rules that would divide them."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors

CPUS = [f"/cpu:{index}" for index in range(4)]
X = np.zeros((8, 128), "float32")


class TooMuch(keras.layers.Layer):
    """Asks for more memory than there is, which only shows when it runs."""

    def call(self, x):
        large = jnp.ones((1 << 22, 1 << 22)) * jax.lax.stop_gradient(x[0, 0])
        return x + jnp.sum(jnp.sort(large @ large))


def make_model():
    layers = [keras.layers.Dense(256, name="up"), TooMuch(), keras.layers.Dense(126, name="odd")]
    model = keras.Sequential([keras.Input((128,)), *layers], name="model")
    model.compile("adam", "mse")
    return model


def fail_in_scope(strategy):
    """End a scope as a device does that has no memory for what it is to hold."""
    with strategy.scope():
        model = make_model()
        raise jax.errors.JaxRuntimeError(f"RESOURCE_EXHAUSTED: no memory for {model.name}.\nMore.")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (
            lambda: sx.distribute.ShardedStrategy(CPUS),
            # A quarter of 128 x 256 floats.
            ["'model/up/kernel' of shape (128, 256) 32,768 bytes, divided by 'shard'", "More devices"],
        ),
        (
            lambda: sx.distribute.ShardedStrategy(CPUS, layout={"up/kernel": None}),
            [
                "'model/up/kernel' of shape (128, 256) 131,072 bytes, whole: "
                "layout={'model/up/kernel$': (None, 'shard')} divides it by 4",
            ],
        ),
        (
            lambda: sx.distribute.ShardedStrategy(CPUS, model=2, layout={"up/kernel": (None, "model")}),
            [
                "65,536 bytes, divided by 'model': layout={'model/up/kernel$': ('shard', 'model')} divides it by 2"
            ],
        ),
        (
            lambda: sx.distribute.ShardedStrategy([*CPUS, "/cpu:4"]),
            ["'model/up/kernel' of shape (128, 256) 131,072 bytes, whole: no dimension divides by 5"],
        ),
        (
            lambda: sx.distribute.MirroredStrategy(CPUS),
            ["131,072 bytes, whole;", "Each of 4 devices has a copy; with a ShardedStrategy"],
        ),
        (
            lambda: sx.distribute.OneDeviceStrategy("/cpu:0"),
            ["Several devices of a ShardedStrategy have a part of each."],
        ),
    ],
)
def test_the_largest_variables_are_named_with_the_rule_that_would_divide_them(strategy, expected):
    with pytest.raises(
        errors.ResourceExhaustedError, match="Received: RESOURCE_EXHAUSTED: no .*model.$"
    ) as caught:
        fail_in_scope(strategy())
    for text in expected:
        assert text in str(caught.value)


def test_a_step_without_memory_says_so_and_not_of_slots():
    strategy = sx.distribute.ShardedStrategy(CPUS, layout={"up/kernel": None})
    with strategy.scope():
        model = make_model()
    with pytest.raises(errors.ResourceExhaustedError, match="'model/up/kernel.*Out of memory") as caught:
        model.fit(X, X[:, :126], batch_size=8, verbose=0)
    assert "momentum" not in str(caught.value)
    # Kernels, biases and as many slots, twice.
    assert f"take {(128 * 256 * 4 + 256 * 126 + 256 * 4 + 126 * 4) * 3 + 8:,} bytes" in str(caught.value)


def test_another_error_of_a_device_stays_what_it_is():
    scope = sx.distribute.MirroredStrategy(CPUS).scope()
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL: no"), scope:
        raise jax.errors.JaxRuntimeError("INTERNAL: no")


def test_a_variable_whose_first_value_fails_is_not_placed():
    def fail(shape, dtype):
        raise ValueError("no first value")

    # Held, as by the error's traceback in a notebook.
    variable = keras.Variable.__new__(keras.Variable)
    scope = sx.distribute.MirroredStrategy(CPUS).scope()
    with pytest.raises(ValueError, match="no first value"), scope:
        variable.__init__(fail, shape=(2,), dtype="float32")
