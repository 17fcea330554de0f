"""Mixed precision: half-precision layers, float32 variables, and one loss scale for all replicas."""

import keras
import numpy as np
import pytest
from keras import layers

pytestmark = pytest.mark.exact


@pytest.fixture
def policy(request):
    before = keras.mixed_precision.dtype_policy()
    keras.mixed_precision.set_dtype_policy(request.param)
    yield request.param
    keras.mixed_precision.set_dtype_policy(before)


def make():
    model = keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(1, dtype="float32")])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"], indirect=True)
def test_training_equals_that_of_keras(policy, mirrored, train, data):
    ours, theirs = (train(s, make, *data, batch_size=16, epochs=2)[1].history for s in (mirrored(4), None))
    tolerance = 2e-2 if policy == "mixed_bfloat16" else 2e-3
    np.testing.assert_allclose(ours["loss"], theirs["loss"], rtol=tolerance)


@pytest.mark.parametrize("policy", ["mixed_float16"], indirect=True)
@pytest.mark.parametrize("steps", [1, 2])
def test_an_overflow_on_one_replica_makes_all_of_them_skip_and_halves_the_scale_once(
    steps, policy, mirrored, data
):
    x, y = (array[:32].copy() for array in data)
    keras.utils.set_random_seed(0)
    with mirrored(4).scope():
        model = keras.Sequential([layers.Dense(1, dtype="float32")])
        inner = keras.optimizers.SGD(0.1)
        model.compile(
            keras.optimizers.LossScaleOptimizer(inner, initial_scale=1024.0), "mse", steps_per_execution=steps
        )
    model.fit(x[:16], y[:16], batch_size=16, shuffle=False, verbose=0)
    weights = model.get_weights()
    bad = x[:16].copy()
    bad[5] = np.inf  # In the second replica's part.
    model.fit(
        np.concatenate([bad] * steps),
        np.concatenate([y[:16]] * steps),
        batch_size=16,
        shuffle=False,
        verbose=0,
    )
    for before, after in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)
    assert float(model.optimizer.dynamic_scale.numpy()) == 1024.0 / 2**steps
    assert int(inner.iterations.numpy()) == 1
    model.fit(x[16:], y[16:], batch_size=16, shuffle=False, verbose=0)
    assert int(inner.iterations.numpy()) == 2
    assert (weights[0] != model.get_weights()[0]).any()
