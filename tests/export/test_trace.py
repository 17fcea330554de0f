"""What is traced for an export, for batches of any size, and what can not be."""

import keras
import ml_dtypes
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.export import ExportedFunction, TensorInfo, load, save
from tests.export.test_load import Scaler


def test_weights_keep_their_dtypes_and_names_that_two_have(tmp_path):
    variables = [
        sx.Variable(np.asarray(value, dtype), name="w")
        for value, dtype in [
            (1.5, ml_dtypes.bfloat16),
            ([1, 2], "int32"),
            ([True], bool),
            (np.zeros((0, 2)), "float16"),
        ]
    ]
    function = ExportedFunction(
        lambda arrays: [variable.value for variable in variables], {"x": TensorInfo("float32", (None,))}
    )
    save(function, tmp_path / "a", platforms=["cpu"])
    found = load(tmp_path / "a").signatures["serving_default"](np.ones(1, "float32"))
    for variable, array in zip(variables, found.values(), strict=True):
        assert array.dtype == variable.numpy().dtype
        np.testing.assert_array_equal(array, variable.numpy())


LAYERS = {
    "few features": lambda: [keras.layers.Conv2D(8, 3, padding="same")],
    "kernel of 1": lambda: [keras.layers.Conv2D(32, 3), keras.layers.Conv2D(64, 1)],
    "depthwise": lambda: [keras.layers.Conv2D(8, 3), keras.layers.DepthwiseConv2D(3, strides=2)],
    "groups": lambda: [keras.layers.Conv2D(8, 3), keras.layers.Conv2D(8, 3, groups=4)],
    "transposed": lambda: [keras.layers.Conv2DTranspose(4, 3, strides=2)],
    "volumes": lambda: [keras.layers.Reshape((4, 4, 16, 1)), keras.layers.Conv3D(4, 3)],
    "pooling": lambda: [keras.layers.MaxPooling2D(3, 2, "same"), keras.layers.AveragePooling2D(2)],
    "channels first": lambda: [keras.layers.Conv2D(4, 3, data_format="channels_first", padding="same")],
    "means": lambda: [keras.layers.Conv2D(16, 3), keras.layers.GlobalAveragePooling2D()],
    "norms": lambda: [keras.layers.LayerNormalization(), keras.layers.GroupNormalization(1)],
}


@pytest.mark.parametrize("kind", LAYERS)
def test_layers_that_are_lowered_in_a_way_of_their_own_take_any_batch(kind, tmp_path):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((16, 16, 1)), *LAYERS[kind]()])
    save(model, tmp_path / "a", platforms=["cpu"])
    signature = load(tmp_path / "a").signatures["serving_default"]
    x = np.random.default_rng(0).random((70, 16, 16, 1), np.float32)
    for count in (1, 3, 70):
        expected = model.predict(x[:count], verbose=0, batch_size=count)
        np.testing.assert_allclose(signature(x[:count])["output_0"], expected, atol=1e-5)


def refused(tmp_path, obj, error, match, **kwargs):
    with pytest.raises(error, match=match):
        save(obj, tmp_path / "refused", **kwargs)
    assert list(tmp_path.iterdir()) == [], "A failed export leaves nothing."


def test_what_can_not_be_exported_is_refused_and_leaves_nothing(tmp_path):
    counter = sx.Variable(0.0)
    info = {"x": TensorInfo("float32", (None, 2))}
    refused(
        tmp_path,
        ExportedFunction(lambda a: counter.assign_add(1.0), info),
        errors.BadArgumentError,
        "assigns",
    )
    refused(tmp_path, ExportedFunction(lambda a: {}, info), errors.BadArgumentError, "gives nothing")
    refused(
        tmp_path,
        ExportedFunction(lambda a: tf.numpy_function(np.ones, [3], tf.TensorSpec((3,), tf.float64)), info),
        errors.TracingError,
        "calls Python while it runs",
    )
    refused(
        tmp_path,
        ExportedFunction(lambda a: a["x"].reshape(int(a["x"].shape[0]) // 2, 4), info),
        errors.TracingError,
        "can't be compiled for any number of examples",
    )
    refused(tmp_path, object(), errors.BadArgumentError, "nothing to export")
    refused(
        tmp_path, keras.Sequential([keras.layers.Dense(1)]), errors.BadArgumentError, "has no weights yet"
    )
    refused(tmp_path, tf.function(lambda x: x), errors.BadArgumentError, "does not say what it takes")
    refused(tmp_path, Scaler(), errors.BadArgumentError, "compiled for platforms", platforms=["gpu"])


class Places(keras.layers.Layer):
    """Adds what it knows of each place, of which there are four, as position embeddings do."""

    def call(self, inputs):
        known = keras.ops.ones((4, 2))
        return inputs + keras.ops.slice(known, (0, 0), (inputs.shape[1], 2))

    def compute_output_shape(self, shape):
        return shape


def test_a_length_that_has_to_be_known_is_given_by_a_signature(tmp_path):
    inputs = keras.Input((None, 2), name="x")
    model = keras.Model(inputs, Places()(inputs))
    refused(tmp_path, model, errors.TracingError, r"<= '4' is inconclusive.*`input_signature` of a function")

    @sx.function(input_signature=[sx.data.TensorSpec((None, 3, 2), "float32", name="x")])
    def serve(x):
        return model(x)

    save(model, tmp_path / "a", serve, platforms=["cpu"])
    x = np.zeros((5, 3, 2), "float32")
    (found,) = load(tmp_path / "a").signatures["serving_default"](x=x).values()
    np.testing.assert_array_equal(found, x + 1)
