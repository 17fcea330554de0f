"""`load_model` reads folders that TensorFlow's Keras wrote: built again with their weights, or called as functions."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.golden.saved_models_cases import answers_of, differences
from tests.tensorflow.saved_models.files import unpack


def given(folder):
    """Return what TensorFlow's model was called with, and what it gave."""
    case = answers_of(folder)["keras"]
    return case["in"]["0"], case["out"]["0"]


def test_a_model_of_layers_is_built_again_and_trained_further(tmp_path):
    folder = unpack("keras2_dense", tmp_path)
    model = tf.keras.models.load_model(folder / "model")
    assert [type(each) for each in model.layers] == [
        keras.layers.Dense,
        keras.layers.Dropout,
        keras.layers.Dense,
    ]
    x, y = given(folder)
    assert differences({"y": y}, {"y": model.predict(x, verbose=0)}) == []
    assert isinstance(model.optimizer, keras.optimizers.Adam)
    assert model.loss == "mse" or model.loss.__name__ == "mean_squared_error"
    history = model.fit(x, np.zeros_like(y), epochs=2, verbose=0).history
    assert history["loss"][1] != history["loss"][0]
    assert not tf.keras.models.load_model(str(folder / "model"), compile=False).compiled


def test_a_recurrent_model_is_built_again(tmp_path):
    folder = unpack("keras2_masked_lstm", tmp_path)
    x, y = given(folder)
    assert differences({"y": y}, {"y": tf.keras.models.load_model(folder / "model")(x)}) == []


def test_a_model_of_a_class_that_is_not_here_calls_its_functions(tmp_path):
    folder = unpack("keras2_dense", tmp_path)
    (folder / "model" / "keras_metadata.pb").unlink()
    with tf.distribute.MirroredStrategy().scope():
        model = tf.keras.models.load_model(folder / "model")
        model.compile("sgd", "mse")
    assert type(model).__name__ == "SavedKerasModel"
    x, y = given(folder)
    assert differences({"y": y}, {"y": model.predict(x, verbose=0)}) == []
    assert len(model.trainable_variables) == 4
    before = model.trainable_variables[0].numpy().copy()
    model.fit(x, np.zeros_like(y), verbose=0)
    assert not np.array_equal(before, model.trainable_variables[0].numpy())


def test_any_saved_model_with_a_signature_is_a_model(tmp_path):
    folder = unpack("graph_partitioned", tmp_path)
    case = answers_of(folder)["serving_default"]
    model = keras.models.load_model(str(folder / "model"))
    assert differences(case["out"], {"y": model({"x": case["in"]["x"]})}) == []


def test_damaged_metadata_is_told(tmp_path):
    folder = unpack("keras2_dense", tmp_path) / "model"
    (folder / "keras_metadata.pb").write_bytes(b"\xff" * 9)
    with pytest.raises(errors.DataLossError, match=r"keras_metadata.pb' is damaged"):
        tf.keras.models.load_model(folder)
