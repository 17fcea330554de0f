"""Canned estimators give TensorFlow 2.15's variables, names, metrics and predictions."""

import pathlib

import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow import v1
from tests.golden import canned_cases

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "canned.npz"
NAMES = canned_cases.Names(
    tf.estimator,
    tf.compat.v1.estimator,
    tf.feature_column,
    tf.data,
    tf.contrib.estimator.binary_classification_head,
)
CASES = canned_cases.cases(NAMES)


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as found:
        return dict(found)


@pytest.mark.parametrize("name", CASES)
def test_training_evaluation_and_prediction_are_tensorflows(tmp_path, golden, monkeypatch, name):
    monkeypatch.setattr(v1, "glorot_uniform_initializer", lambda: canned_cases.first_value)
    make, labels = CASES[name]
    found = canned_cases.answers(make, labels, tf.data, str(tmp_path))
    wanted = {key.partition("|")[2]: value for key, value in golden.items() if key.partition("|")[0] == name}
    assert sorted(found) == sorted(wanted)
    for key, value in wanted.items():
        if value.dtype.kind == "S":
            assert found[key].astype("S8").tolist() == value.tolist(), key
        else:
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=2e-6, err_msg=key)
