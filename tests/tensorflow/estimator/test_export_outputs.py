"""What specs say of their exports."""

import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow.estimator._export_outputs import outputs_of
from stratax.tensorflow.estimator.export import (
    ClassificationOutput,
    PredictOutput,
    RegressionOutput,
    ServingInputReceiver,
    TensorServingInputReceiver,
)

X = np.zeros((2, 3), np.float32)
TEXT = np.array([[b"a"], [b"b"]], object)


def test_outputs_have_the_names_that_clients_get():
    assert list(PredictOutput(X).tensors()) == ["output"]
    assert list(PredictOutput({"a": X}).tensors()) == ["a"]
    assert list(ClassificationOutput(scores=X).tensors()) == ["scores"]
    assert list(ClassificationOutput(X, TEXT).tensors()) == ["classes", "scores"]
    assert list(RegressionOutput(X).tensors()) == ["outputs"]


def test_the_only_output_is_the_default_too():
    only = PredictOutput(X)
    assert outputs_of(None, {"a": only}) == {"a": only, "serving_default": only}
    assert list(outputs_of({"p": X}, None)) == ["serving_default"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ClassificationOutput(), "empty arguments"),
        (lambda: ClassificationOutput(scores=TEXT), "scores must be a float32"),
        (lambda: ClassificationOutput(classes=X), "classes must be a string"),
        (lambda: RegressionOutput(TEXT), "must be a float32"),
        (lambda: PredictOutput({1: X}), "key must be a string"),
        (lambda: outputs_of(X, {"a": PredictOutput(X), "b": PredictOutput(X)}), "none of them is specified"),
        (lambda: outputs_of(X, {"a": X}), "must be ExportOutput objects"),
        (lambda: outputs_of(None, None), "can't be exported"),
    ],
)
def test_wrong_outputs_are_told(call, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        call()


def test_a_model_of_one_tensor_gets_no_dict():
    assert TensorServingInputReceiver(X, X).features is X
    assert ServingInputReceiver(X, X).features == {"feature": X}
    assert list(ServingInputReceiver(X, X).receiver_tensors) == ["input"]
    with pytest.raises(errors.BadTypeError, match="one tensor"):
        TensorServingInputReceiver({"x": X}, X)
