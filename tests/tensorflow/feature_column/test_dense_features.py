"""The layer of feature columns: its variables, its model, and what it refuses."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tensorflow.feature_column as fc
from stratax import errors
from tests.tensorflow.feature_column.test_models import BUCKETS, COLOR, SIZE, _text


def test_the_layer_has_its_variables_and_is_trained():
    columns = [fc.embedding_column(COLOR, 2), fc.indicator_column(COLOR), SIZE]
    layer, parts = fc.DenseFeatures(columns), {}
    batch = {"color": _text("red", "blue"), "size": np.array([[1.0], [2.0]])}
    result = layer(batch, cols_to_output_tensors=parts)
    assert [v.path for v in layer.weights] == [f"{layer.name}/color_embedding/embedding_weights"]
    table = np.asarray(layer.weights[0].value)
    np.testing.assert_allclose(result, np.c_[table[[0, 2]], np.eye(3)[[0, 2]], [1, 2]], rtol=1e-6)
    assert [part.shape for part in parts.values()] == [(2, 2), (2, 3), (2, 1)]
    with sx.GradientTape() as tape:
        loss = jnp.sum(layer(batch))
    assert tape.gradient(loss, layer.weights)[0].tolist() == [[1, 1], [0, 0], [1, 1]]


def test_the_layer_is_part_of_a_keras_model_of_numbers():
    columns = [fc.embedding_column(fc.categorical_column_with_identity("kind", 3), 2), BUCKETS]
    inputs = {"kind": keras.Input((1,), dtype="int32", name="kind"), "size": keras.Input((1,), name="size")}
    model = keras.Model(inputs, keras.layers.Dense(1)(fc.DenseFeatures(columns)(inputs)))
    model.compile("sgd", "mse")
    batch = {"kind": np.array([[0], [2]]), "size": np.array([[1.0], [5.0]])}
    before = np.asarray(model.weights[0].value)
    model.fit(batch, np.ones((2, 1)), verbose=0)
    assert (np.asarray(model.weights[0].value) != before).any(axis=1).tolist() == [True, False, True]


def test_the_layer_refuses_other_columns_and_features():
    with pytest.raises(errors.BadArgumentError, match="DenseFeatures takes dense columns"):
        fc.DenseFeatures([COLOR])
    with pytest.raises(errors.BadTypeError, match="takes a dictionary"):
        fc.DenseFeatures([SIZE])(np.ones(2))
