"""A model's means are divided by NumPy, and are what Keras' own programs give, to the last bit."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")


@pytest.fixture
def model():
    with sx.distribute.MirroredStrategy().scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
    # Metrics are made with the first batch.
    model.evaluate(np.ones((8, 2)), np.ones((8, 1)), verbose=0)
    return model


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


@pytest.mark.parametrize("total", [1.0, 0.1, 1e30, -3.3, np.nan, np.inf, 0.0])
@pytest.mark.parametrize("count", [0.0, 3.0, 7.1, np.nan, 1e-30])
def test_a_mean_is_the_one_of_keras_bit_by_bit(total, count, model):
    (mean, *_) = model.metrics
    mean.total.assign(total)
    mean.count.assign(count)
    ours, plain = model.get_metrics_result()["loss"], mean.result()
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(plain))
    assert ours.dtype == plain.dtype


def test_results_of_a_model_need_no_program(model, compiled):
    model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=8, verbose=0)
    compiled.clear()
    jax.clear_caches()
    results = model.get_metrics_result()
    assert compiled == []
    assert set(results) == {"loss", "mae"}


def test_a_metric_with_a_result_of_its_own_keeps_it(model):
    class Doubled(keras.metrics.MeanAbsoluteError):
        def result(self):
            return 2 * super().result()

    model.compile("sgd", "mse", metrics=[Doubled(name="doubled"), keras.metrics.RootMeanSquaredError()])
    y = np.full((8, 1), 4.0)
    logs = model.evaluate(np.zeros((8, 2)), y, verbose=0, return_dict=True)
    assert logs["doubled"] == 8.0
    assert logs["root_mean_squared_error"] == 4.0


def test_results_in_a_compiled_function_are_its_own(model):
    (mean, *_) = model.metrics
    mean.reset_state()

    @sx.function
    def compute(x):
        mean.update_state(x)
        return model.get_metrics_result()["loss"]

    assert [float(compute(value)) for value in (2.0, 4.0)] == [2.0, 3.0]
