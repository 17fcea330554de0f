"""Every kind of column gives TensorFlow's numbers, gradients and names of variables."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tensorflow.feature_column as fc
import stratax.tf as tf
from stratax.data import SparseTensor
from stratax.tensorflow import v1
from stratax.tensorflow.ops.text.fingerprints import fingerprint64
from tests.golden import feature_column_cases as cases


def _read():
    with np.load(Path(cases.__file__).with_name("feature_columns.npz")) as file:
        shapes, names = json.loads(file["index"].tobytes())
        values, fingerprints = file["values"], file["fingerprints"]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    parts = np.split(values, ends[:-1])
    found = {key: part.reshape(shape) for (key, shape), part in zip(shapes.items(), parts, strict=True)}
    return found, names, fingerprints


EXPECTED, NAMES, FINGERPRINTS = _read()


def _features(case):
    return {
        key: SparseTensor(*value.parts) if isinstance(value, cases.Sparse) else value
        for key, value in case.features.items()
    }


def _computed(case, state, features):
    """Return the result, its gradients, the variables of each column and those that are trained."""
    of_columns = {}
    function = getattr(tf.compat.v1.feature_column, case.function)
    with v1.ModelScope(state, "train").entered() as scope:
        columns = case.columns(tf.compat.v1)
        result = function(features, columns, cols_to_vars=of_columns, **case.arguments)
        trained = scope.trainable_variables()
        total = jnp.sum(jnp.ravel(result) * np.cos(np.arange(result.size)).astype(np.float32))
        gradients = dict(
            zip((v.path for v in trained), scope.derivatives.gradients(total, trained), strict=True)
        )
    return result, gradients, of_columns


@pytest.mark.parametrize("key", cases.CASES)
def test_columns_give_tensorflows_numbers_and_names(key):
    case, state = cases.CASES[key], v1.ModelState(1)
    _computed(case, state, _features(case))
    for name, variable in state.variables.items():
        variable.assign(cases.value_of(name, variable.shape))
    result, gradients, of_columns = _computed(case, state, _features(case))
    names, shapes, trained = NAMES[key]
    assert {
        column if isinstance(column, str) else column.name: [v.path for v in made]
        for column, made in of_columns.items()
    } == names
    assert {name: list(v.shape) for name, v in state.variables.items()} == shapes
    assert list(gradients) == trained
    np.testing.assert_allclose(result, EXPECTED[f"{key}|result"], rtol=1e-5, atol=1e-5)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, EXPECTED[f"{key}|{name}|gradient"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("key", cases.SEQUENCES)
def test_sequences_give_tensorflows_numbers(key):
    case = cases.SEQUENCES[key]
    layer = fc.SequenceFeatures(case.columns(tf.compat.v1))
    layer(_features(case))
    for variable in layer.weights:
        variable.assign(cases.value_of("table", variable.shape))
    result, lengths = layer(_features(case))
    assert lengths.tolist() == EXPECTED[f"sequence|{key}|lengths"].tolist()
    np.testing.assert_allclose(result, EXPECTED[f"sequence|{key}|result"], rtol=1e-5, atol=1e-5)


def test_fingerprints_of_strings_of_all_lengths_are_farmhashs():
    rows = cases.strings()
    found = fingerprint64([string for row in rows for string in row]) % np.uint64(2**63 - 1)
    assert np.bitwise_xor.reduce(found.reshape(len(rows), -1), axis=1).tolist() == FINGERPRINTS.tolist()
    assert not isinstance(found, jax.Array)
