"""Where a model is built, compiled, loaded and used: it trains with its strategy, or the error names the line."""

import contextlib

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx


def build():
    return keras.Sequential([keras.Input((6,)), layers.Dense(1)])


def compile_(model):
    model.compile(keras.optimizers.SGD(0.1), "mse")


def test_compiling_inside_a_model_built_outside_names_the_line(mirrored):
    model = build()
    with (
        mirrored(2).scope(),
        pytest.raises(RuntimeError, match=r"built outside of any scope.*Move the lines that build"),
    ):
        compile_(model)


def test_a_model_of_another_strategy_is_refused(mirrored, data):
    with mirrored(2).scope():
        model = build()
    with mirrored(4).scope(), pytest.raises(RuntimeError, match=r"of .*2 replicas.* in the scope of .*4"):
        compile_(model)
    with mirrored(2).scope():
        compile_(model)
    with mirrored(4).scope():
        for call in (model.fit, model.evaluate, model.train_on_batch, model.test_on_batch):
            with pytest.raises(RuntimeError, match="was used in the scope of another"):
                call(*data)
        with pytest.raises(RuntimeError, match="was used in the scope of another"):
            model.predict(data[0])


def test_a_model_compiled_outside_is_refused_inside(mirrored, data):
    model = build()
    compile_(model)
    with mirrored(2).scope():
        with pytest.raises(RuntimeError, match="compiled outside of any scope and is used in one"):
            model.fit(*data)
        with pytest.raises(RuntimeError, match="compiled outside of any scope and is used in one"):
            model.predict(data[0])
    assert model.predict(data[0], verbose=0).shape == (50, 1)


def test_an_uncompiled_model_built_outside_is_refused_inside(mirrored, data):
    model = build()
    with mirrored(2).scope(), pytest.raises(RuntimeError, match="built outside of any scope"):
        model.predict(data[0])


def test_a_model_that_is_not_compiled_says_so(mirrored, data):
    with mirrored(2).scope():
        model = build()
    with pytest.raises(ValueError, match="compile"):
        model.fit(*data)


@pytest.mark.parametrize("save_inside", [True, False])
@pytest.mark.parametrize("load_inside", [True, False])
def test_a_saved_model_goes_on_training_wherever_it_is_loaded(
    save_inside, load_inside, mirrored, data, tmp_path
):
    def scope(inside):
        return mirrored(4).scope() if inside else contextlib.nullcontext()

    keras.utils.set_random_seed(0)
    with scope(save_inside):
        model = keras.Sequential([keras.Input((6,)), layers.Dense(4, activation="tanh"), layers.Dense(1)])
        model.compile("adam", "mse")
    model.fit(*data, batch_size=16, shuffle=False, verbose=0)
    model.save(tmp_path / "model.keras")
    with scope(load_inside):
        loaded = keras.models.load_model(tmp_path / "model.keras")
    for saved, read in zip(model.variables, loaded.variables, strict=True):
        np.testing.assert_array_equal(saved.numpy(), read.numpy())
    assert int(loaded.optimizer.iterations.numpy()) == 4
    on_devices = {len(v.value.sharding.device_set) for v in loaded.trainable_variables}
    assert on_devices == {4 if load_inside else 1}
    histories = [
        m.fit(*data, batch_size=16, shuffle=False, verbose=0).history["loss"] for m in (model, loaded)
    ]
    np.testing.assert_allclose(histories[1], histories[0], rtol=1e-5)


def test_compiling_anew_changes_optimizer_and_strategy(mirrored, data):
    with mirrored(2).scope():
        model = build()
        compile_(model)
    model.fit(*data, batch_size=25, verbose=0)
    with mirrored(2).scope():
        model.compile("adam", "mae", metrics=["mse"])
    history = model.fit(*data, batch_size=25, verbose=0)
    assert set(history.history) == {"loss", "mse"}
    assert int(model.optimizer.iterations.numpy()) == 2


def test_a_layer_that_is_frozen_before_compiling_stays_as_it_is(mirrored, data):
    with mirrored(2).scope():
        model = keras.Sequential([keras.Input((6,)), layers.Dense(3), layers.Dense(1)])
        compile_(model)
    model.fit(*data, batch_size=25, verbose=0)
    before = model.get_weights()
    with mirrored(2).scope():
        model.layers[0].trainable = False
        compile_(model)
    model.fit(*data, batch_size=25, verbose=0)
    np.testing.assert_array_equal(before[0], model.get_weights()[0])
    assert (before[2] != model.get_weights()[2]).any()


def test_fit_of_a_subclass_is_called_with_what_the_user_gave(mirrored, data):
    class Scaled(keras.Sequential):
        def fit(self, features, targets, **kwargs):
            return super().fit(features * 0.0, targets, **kwargs)

    with mirrored(2).scope():
        model = Scaled([keras.Input((6,)), layers.Dense(1)])
        compile_(model)
    kernel = model.get_weights()[0]
    model.fit(*data, batch_size=25, verbose=0)
    np.testing.assert_array_equal(model.get_weights()[0], kernel)


def test_a_clone_has_no_strategy_and_trains_alone(mirrored, data):
    with mirrored(2).scope():
        model = build()
        compile_(model)
    clone = keras.models.clone_model(model)
    compile_(clone)
    assert np.isfinite(clone.fit(*data, verbose=0).history["loss"]).all()


@pytest.mark.parametrize("setting", [{"run_eagerly": True}, {"jit_compile": False}])
def test_settings_that_ask_for_uncompiled_steps_warn_and_train(setting, mirrored, data):
    with mirrored(2).scope():
        model = build()
        with pytest.warns(RuntimeWarning, match=next(iter(setting))):
            model.compile("sgd", "mse", **setting)
    assert len(model.fit(*data, batch_size=25, verbose=0).history["loss"]) == 1


def test_the_default_strategy_is_keras_alone(data):
    with sx.distribute.get_strategy().scope():
        model = build()
        compile_(model)
    assert np.isfinite(model.fit(*data, verbose=0).history["loss"]).all()
