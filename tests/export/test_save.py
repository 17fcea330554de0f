"""Methods and models are saved, from under a strategy too; a full disk leaves nothing."""

import errno

import keras
import ml_dtypes
import numpy as np
import pytest
import safetensors

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.core import storage
from stratax.export import load, save
from tests.export.test_load import Scaler


def test_methods_of_an_object_are_exported_with_their_loops(tmp_path):
    scaler = Scaler()
    save(scaler, tmp_path / "a")
    signatures = load(tmp_path / "a").signatures
    assert list(signatures) == ["serving_default", "scaled"]
    found = signatures["scaled"](x=np.ones((3, 2), "float32"), times=2)
    np.testing.assert_array_equal(found["scaled"], [[4.0, 9.0]] * 3)
    assert found["sum"] == 39.0
    # One program and one copy of the weights, though there are two names.
    assert len(list((tmp_path / "a" / "programs").glob("*.cpu.bin"))) == 1
    save(scaler, tmp_path / "b", signatures={"other": scaler.scaled}, platforms=["cpu"])
    assert list(load(tmp_path / "b").signatures) == ["other"]


def test_a_model_is_exported_from_under_a_strategy(tmp_path):
    with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    x = np.ones((4, 2), "float32")
    model.fit(x, x[:, :1], verbose=0)
    save(model, tmp_path / "a", platforms=["cpu"])
    found = load(tmp_path / "a").signatures["serving_default"](x)["output_0"]
    np.testing.assert_allclose(found, model.predict(x, verbose=0), atol=1e-6)


def test_a_disk_that_is_full_leaves_nothing_and_says_so(tmp_path, monkeypatch):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "read_whole", full)
        with pytest.raises(errors.FileAccessError, match="can't be written.*No space left on device"):
            save(model, tmp_path / "a", platforms=["cpu"])
    (tmp_path / "file").touch()
    with pytest.raises(errors.FileAccessError, match="can't be written.*choose another folder"):
        save(model, tmp_path / "file" / "a", platforms=["cpu"])
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


class Summing:
    """Sums variables of several dtypes."""

    def __init__(self, values):
        self.variables = {
            name: keras.Variable(value, dtype=value.dtype.name, name=name) for name, value in values.items()
        }

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32, name="x")])
    def total(self, x):
        return x + sum(keras.ops.sum(keras.ops.cast(each, "float32")) for each in self.variables.values())


def test_weights_are_in_the_format_of_safetensors_whatever_their_dtype(tmp_path):
    values = {
        "whole": np.arange(6, dtype="float32").reshape(2, 3).T,
        "number": np.array(7, "int32"),
        "flags": np.array([True, False, True]),
        "half": np.ones((3, 1), ml_dtypes.bfloat16),
    }
    save(Summing(values), tmp_path / "a", platforms=["cpu"])
    with safetensors.safe_open(tmp_path / "a" / "weights.safetensors", "numpy") as file:
        for name, value in values.items():
            found = file.get_tensor(name)
            assert found.dtype == value.dtype
            np.testing.assert_array_equal(found, value)
    assert load(tmp_path / "a").signatures["total"](x=np.zeros(1, "float32"))["output_0"] == 15 + 7 + 2 + 3
    small = Summing({"v": np.zeros(2, ml_dtypes.float8_e4m3fn)})
    with pytest.raises(errors.UnimplementedError, match="Received: 'v' of dtype float8_e4m3fn"):
        save(small, tmp_path / "b", platforms=["cpu"])
