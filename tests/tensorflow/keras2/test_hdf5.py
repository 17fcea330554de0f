"""Models in HDF5 files: the numbers are TensorFlow 2.15's."""

import json

import h5py
import numpy as np
import pytest

import stratax.tf as tf

K = tf.keras
X = np.arange(8.0, dtype="float32").reshape(4, 2)
Y = np.ones((4, 1), "float32")


def model_of(optimizer, loss="mse"):
    inputs = K.Input((2,))
    model = K.Model(inputs, K.layers.Dense(1, kernel_initializer="ones", name="d")(inputs))
    model.compile(optimizer, loss)
    return model


def fit(model, epochs=1):
    model.fit(X, Y, verbose=0, epochs=epochs, batch_size=4)
    return model.get_weights()[0]


@pytest.mark.parametrize("scope", [False, True])
def test_training_goes_on_as_if_it_had_not_stopped(tmp_path, scope):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]) if scope else tf.distribute.get_strategy()
    with strategy.scope():
        model = model_of(K.optimizers.SGD(0.001, momentum=0.9))
        fit(model, 2)
        model.save(tmp_path / "m.h5")
        again = K.models.load_model(tmp_path / "m.h5")
    np.testing.assert_allclose(fit(model), [[0.7045], [0.6415]], atol=1e-4)
    np.testing.assert_allclose(fit(again), [[0.7045], [0.6415]], atol=1e-4)
    assert again.optimizer.iterations.numpy() == 3


@pytest.mark.parametrize("loss", ["mae", "kld", "BCE", "mean_squared_error", "huber"])
def test_losses_by_name(tmp_path, loss):
    model = model_of("sgd", loss)
    model.save(tmp_path / "m.h5")
    again = K.models.load_model(tmp_path / "m.h5")
    assert again.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)


def test_operations_between_layers(tmp_path):
    inputs = K.Input((2,))
    hidden = K.layers.Dense(1, kernel_initializer="ones")(inputs)
    model = K.Model(inputs, tf.reduce_mean(hidden, 1) + tf.exp(-hidden))
    model.save(tmp_path / "m.h5")
    again = K.models.load_model(tmp_path / "m.h5")
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))


# What three steps of 2.15 leave: the names and values of the optimizer's state, as its files have them.
_ADAM = {
    "iteration:0": 3,
    "Adam/m/d/kernel:0": [[14.8745], [18.0542]],
    "Adam/v/d/kernel:0": [[8.9565], [13.1956]],
    "Adam/m/d/bias:0": [3.1797],
    "Adam/v/d/bias:0": [0.4092],
}
_LEGACY = {
    "Adam/iter:0": 3,
    "Adam/d/kernel/m:0": [[14.8745], [18.0542]],
    "Adam/d/bias/m:0": [3.1797],
    "Adam/d/kernel/v:0": [[8.9565], [13.1956]],
    "Adam/d/bias/v:0": [0.4092],
}


@pytest.mark.parametrize(
    ("name", "state", "config"),
    [
        ("Custom>Adam", _ADAM, {"is_legacy_optimizer": False, "jit_compile": False}),
        ("Adam", _LEGACY, {"decay": 0.0}),
    ],
)
def test_the_state_that_keras_2_has_written(tmp_path, name, state, config):
    model_of("adam").save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5", "a") as file:
        said = json.loads(file.attrs["training_config"])
        said["optimizer_config"] = {
            "class_name": name,
            "config": {"name": "Adam", "learning_rate": 0.01, "beta_1": 0.9, **config},
        }
        file.attrs["training_config"] = json.dumps(said)
        if "optimizer_weights" in file:
            del file["optimizer_weights"]
        group = file.create_group("optimizer_weights")
        group.attrs["weight_names"] = [each.encode() for each in state]
        for key, value in state.items():
            group[key] = np.asarray(value, "int64" if key.endswith(("iter:0", "iteration:0")) else "float32")
    optimizer = K.models.load_model(tmp_path / "m.h5").optimizer
    np.testing.assert_allclose(optimizer.learning_rate, 0.01)
    values = {variable.name.removeprefix("adam_"): variable.numpy() for variable in optimizer.variables}
    assert values["iteration"] == 3
    np.testing.assert_allclose(values["d_kernel_momentum"], _ADAM["Adam/m/d/kernel:0"])
    np.testing.assert_allclose(values["d_kernel_velocity"], _ADAM["Adam/v/d/kernel:0"])
    np.testing.assert_allclose(values["d_bias_momentum"], _ADAM["Adam/m/d/bias:0"])
    np.testing.assert_allclose(values["d_bias_velocity"], _ADAM["Adam/v/d/bias:0"])


def test_too_many_values_for_an_optimizer():
    model = model_of("adam")
    fit(model)
    values = [variable.numpy() for variable in model.optimizer.variables]
    with pytest.raises(
        ValueError, match="a weight list of length 7, but the optimizer was expecting 6 weights"
    ):
        model.optimizer.set_weights([*values, 1.0])
    model.optimizer.set_weights(values)
