"""`Model.export` writes what `tf.saved_model.load` reads, and `TFSMLayer` makes a layer of it."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

X = np.random.default_rng(0).random((8, 3), np.float32)
Y = X[:, :2] * 2


def made(strategy=None):
    keras.utils.set_random_seed(0)
    with (strategy or tf.distribute.get_strategy()).scope():
        model = tf.keras.Sequential(
            [tf.keras.Input((3,)), tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(2)]
        )
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    return model


def test_an_exported_model_has_an_endpoint_and_its_variables(tmp_path, capsys):
    model = made()
    model.export(tmp_path / "a")
    assert "with the endpoint 'serve'" in capsys.readouterr().out
    model.export(tmp_path / "a", verbose=False)
    assert capsys.readouterr().out == ""
    loaded = tf.saved_model.load(tmp_path / "a")
    assert sorted(loaded.signatures) == ["serve", "serving_default"]
    np.testing.assert_allclose(loaded.serve(X), model.predict(X, verbose=0), atol=1e-6)
    assert (len(loaded.variables), len(loaded.trainable_variables)) == (4, 4)
    with pytest.raises(errors.BadTypeError, match="'serve' does not take these arguments"):
        loaded.serve(X, training=False)


def test_an_export_takes_what_its_input_signature_says(tmp_path):
    first, second = tf.keras.Input((3,), name="first"), tf.keras.Input((3,), name="second")
    model = tf.keras.Model([first, second], {"sum": first + second})
    model.export(tmp_path / "a", verbose=False)
    found = tf.saved_model.load(tmp_path / "a")
    np.testing.assert_array_equal(found.serve([X, X])["sum"], X + X)
    np.testing.assert_array_equal(found.signatures["serve"](first=X, second=X)["sum"], X + X)
    made().export(tmp_path / "b", verbose=False, input_signature=[tf.TensorSpec((4, 3), tf.float32)])
    of_four = tf.saved_model.load(tmp_path / "b")
    assert of_four.serve(X[:4]).shape == (4, 2)
    with pytest.raises(errors.BadTypeError, match=r"Expected: \(args_0=TensorSpec\(shape=\(4, 3\)"):
        of_four.serve(X)
    with pytest.raises(errors.BadArgumentError, match="a list with one spec"):
        made().export(tmp_path / "c", input_signature=tf.TensorSpec((4, 3), tf.float32))
    with pytest.raises(ValueError, match="Unrecognized format=other"):
        made().export(tmp_path / "c", format="other")


def around(folder, strategy=None, **kwargs):
    """A model around what was saved, which is trained."""
    with (strategy or tf.distribute.get_strategy()).scope():
        inputs = tf.keras.Input((3,))
        outputs = tf.keras.layers.TFSMLayer(folder, **kwargs)(inputs)
        model = tf.keras.Model(inputs, outputs["output_0"] if isinstance(outputs, dict) else outputs)
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    return model


@pytest.mark.parametrize("endpoint", ["serve", "serving_default"])
def test_a_layer_of_what_was_exported_is_trained_as_the_model_is(endpoint, tmp_path):
    model = made()
    model.export(tmp_path / "a", verbose=False)
    mirrored = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    models = [around(tmp_path / "a", each, call_endpoint=endpoint) for each in (None, mirrored)]
    expected = model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
    for each in models:
        assert len(each.trainable_variables) == 4
        found = each.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(each.predict(X, verbose=0), model.predict(X, verbose=0), atol=1e-6)
    models[0].save(tmp_path / "around.keras")
    again = tf.keras.models.load_model(tmp_path / "around.keras")
    np.testing.assert_array_equal(again.predict(X, verbose=0), models[0].predict(X, verbose=0))


def test_an_endpoint_that_is_not_there_is_told(tmp_path):
    made().export(tmp_path / "a", verbose=False)
    with pytest.raises(errors.BadArgumentError, match=r"no endpoint 'call'.*\['serve', 'serving_default'\]"):
        tf.keras.layers.TFSMLayer(tmp_path / "a", call_endpoint="call")
    frozen = around(tmp_path / "a", trainable=False)
    assert (len(frozen.trainable_variables), len(frozen.non_trainable_variables)) == (0, 4)


def test_masks_that_only_training_needs_are_not_drawn_by_an_export(tmp_path):
    lstm = keras.layers.LSTM(2, dropout=0.5, recurrent_dropout=0.5)
    model = tf.keras.Sequential([keras.Input((None, 3)), lstm])
    model.export(tmp_path / "e", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "e")
    x = np.random.default_rng(0).random((2, 4, 3), np.float32)
    for found in (loaded.serve(x), loaded.signatures["serving_default"](x)["output_0"]):
        np.testing.assert_allclose(found, model(x), atol=1e-6)


def test_an_endpoint_that_can_not_be_compiled_says_why(tmp_path):
    layers = [keras.layers.UpSampling1D(), keras.layers.GlobalMaxPooling1D()]
    model = tf.keras.Sequential([keras.Input((None, 1)), keras.layers.Conv1D(1, 3), *layers])
    with pytest.raises(errors.TracingError, match="can't be compiled for any number of examples"):
        model.export(tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_an_input_without_a_name_has_that_of_its_place(tmp_path):
    class Doubles(tf.keras.Model):
        def call(self, values):
            return 2 * values

    model = Doubles()
    model(X)
    model.export(tmp_path / "a", verbose=False)
    made().export(tmp_path / "b", verbose=False, input_signature=[tf.TensorSpec((None, 3), tf.float32)])
    for folder in "ab":
        loaded = tf.saved_model.load(tmp_path / folder)
        assert list(loaded.signatures["serve"].structured_input_signature[1]) == ["args_0"]
