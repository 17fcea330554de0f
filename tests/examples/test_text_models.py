"""Models of tutorials on text and structured data give TensorFlow's numbers."""

import json
import pathlib
import runpy

import numpy as np
import pytest

import stratax.tf as tf

_GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
CASES = runpy.run_path(str(_GOLDEN / "text_model_cases.py"))["CASES"]
GOLDEN = json.loads((_GOLDEN / "text_models.json").read_text("utf-8"))


def leaves(value):
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    return [value] if isinstance(value, str) else np.asarray(value).ravel().tolist()


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_text_computes_what_it_does_on_tensorflow(name):
    found, expected = leaves(CASES[name](tf)), leaves(GOLDEN[name])
    texts = [each for each in expected if isinstance(each, str)]
    assert [each for each in found if isinstance(each, str)] == texts
    numbers = [[each for each in side if not isinstance(each, str)] for side in (found, expected)]
    np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-5)
