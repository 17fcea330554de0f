"""Heads give TensorFlow 2.15's numbers."""

import json
import pathlib

import numpy as np
import pytest

import stratax.tf as tf
from tests.golden import heads_cases

GOLDEN = json.loads((pathlib.Path(__file__).parents[3] / "golden" / "heads.json").read_text())


@pytest.fixture(scope="module")
def cases():
    return heads_cases.cases(tf.estimator, tf.SparseTensor)


def check_same(found, wanted, name):
    assert found.keys() == wanted.keys(), name
    for key, value in wanted.items():
        if isinstance(value, dict):
            check_same(found[key], value, name)
        elif isinstance(value, list) and isinstance(value[0][0], str):
            assert found[key] == value, f"{name}: {key}"
        else:
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=f"{name}: {key}")


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_predictions_and_metrics_are_tensorflows(cases, name):
    check_same(heads_cases.answers(*cases[name]), GOLDEN[name], name)
