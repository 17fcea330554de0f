"""A model trains with the strategy in whose scope it was created, wherever it is built, compiled and fitted."""

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx

X = np.linspace(-1, 1, 32, dtype="float32").reshape(16, 2)
Y = 2 * X.sum(1, keepdims=True) + 1


@pytest.fixture(scope="module")
def strategy():
    return sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])


@pytest.fixture(scope="module")
def other():
    return sx.distribute.MirroredStrategy(["cpu:2", "cpu:3"])


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        return self.dense(inputs)


def sequential():
    return keras.Sequential([layers.Dense(1, kernel_initializer="ones")])


def functional():
    inputs = keras.Input([2])
    return keras.Model(inputs, layers.Dense(1, kernel_initializer="ones")(inputs))


def devices_of(model):
    return {
        frozenset(v.value.devices())
        for v in [*model.variables, *model.optimizer.variables, *model.metrics_variables]
    }


@pytest.mark.parametrize("make", [sequential, functional, Subclassed])
def test_a_model_of_a_scope_that_is_compiled_outside_trains_with_the_strategy(make, strategy):
    with strategy.scope():
        model = make()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", metrics=["mae"])
    history = model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    alone = make()
    alone.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", metrics=["mae"])
    expected = alone.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    assert devices_of(model) == {frozenset(strategy.devices)}
    np.testing.assert_allclose(history.history["loss"], expected.history["loss"], rtol=1e-5)
    np.testing.assert_allclose(model.get_weights()[0], alone.get_weights()[0], rtol=1e-5)


def test_the_word_adam_makes_an_optimizer_of_the_models_strategy(strategy):
    with strategy.scope():
        model = Subclassed()
    model.compile("adam", "mse")
    for variable in model.optimizer.variables:
        assert set(variable.value.devices()) == set(strategy.devices)


def test_a_model_that_predicts_uncompiled_and_is_built_outside_has_its_strategy(strategy):
    with strategy.scope():
        model = Subclassed()
    model.predict(X, batch_size=8, verbose=0)
    assert set(model.dense.kernel.value.devices()) == set(strategy.devices)


@pytest.mark.parametrize("inside", [True, False])
def test_models_made_from_others_have_the_strategy_of_where_they_are_made(inside, strategy, tmp_path):
    source = functional()
    source.compile("sgd", "mse")
    source.save(tmp_path / "model.keras")

    def made():
        return [
            keras.models.clone_model(source),
            keras.Model.from_config(source.get_config()),
            keras.models.load_model(tmp_path / "model.keras"),
        ]

    if inside:
        with strategy.scope():
            models = made()
    else:
        models = made()
    for model in models:
        model.compile("sgd", "mse")
        model.fit(X, Y, batch_size=8, verbose=0)
        assert {len(devices) for devices in devices_of(model)} == {2 if inside else 1}


def test_a_model_that_is_compiled_in_the_scope_of_another_strategy_is_refused(strategy, other):
    with strategy.scope():
        model = Subclassed()
    with (
        other.scope(),
        pytest.raises(sx.errors.StrategyError, match="created in the scope of one strategy and is used"),
    ):
        model.compile("sgd", "mse")


def test_an_unbuilt_model_that_is_created_outside_and_compiled_inside_trains_with_the_strategy(strategy):
    model = Subclassed()
    with strategy.scope():
        model.compile("sgd", "mse")
    model.fit(X, Y, batch_size=8, verbose=0)
    assert devices_of(model) == {frozenset(strategy.devices)}


def test_a_model_around_one_of_a_scope_is_refused(strategy):
    with strategy.scope():
        inner = Subclassed()
        built = functional()
    with pytest.raises(
        sx.errors.StrategyError, match="created outside of any scope.*model 'subclassed.* inside it"
    ):
        keras.Sequential([inner]).compile("sgd", "mse")
    with pytest.raises(sx.errors.StrategyError, match="created outside of any scope"):
        keras.Sequential(built.layers).compile("sgd", "mse")


@pytest.mark.parametrize("part", ["optimizer", "metrics"])
def test_optimizers_and_metrics_of_another_scope_are_refused(part, strategy, other):
    with strategy.scope():
        given = {
            "optimizer": keras.optimizers.Adam() if part == "optimizer" else "sgd",
            "metrics": [keras.metrics.MeanSquaredError()] if part == "metrics" else None,
        }
    with pytest.raises(sx.errors.StrategyError, match="another strategy than its own.*outside of any scope"):
        functional().compile(loss="mse", **given)
    with other.scope():
        model = functional()
    with pytest.raises(sx.errors.StrategyError, match="another strategy than its own"):
        model.compile(loss="mse", **given)
    with strategy.scope():
        model = functional()
    model.compile(loss="mse", **given)
    model.fit(X, Y, batch_size=8, verbose=0)
    assert devices_of(model) == {frozenset(strategy.devices)}


def test_a_program_that_merely_names_the_default_strategy_has_none():
    with sx.distribute.get_strategy().scope():
        model = functional()
    model.compile("sgd", "mse")
    model.fit(X, Y, batch_size=8, verbose=0)
    assert {len(devices) for devices in devices_of(model)} == {1}
