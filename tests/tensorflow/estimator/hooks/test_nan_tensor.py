"""`NanTensorHook` names the first step whose loss was NaN."""

import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow.estimator import NanLossDuringTrainingError, NanTensorHook
from tests.tensorflow.estimator.hooks import loop


def from_step(first):
    # Only for that step: the steps behind it in a dispatch may be numbers again.
    return {"loss": lambda step: np.float32(np.nan if step == first else step)}


@pytest.mark.parametrize(("steps", "done"), [(1, 10), (7, 14)])
def test_the_step_is_named_also_inside_of_a_dispatch(steps, done):
    session = loop.Session()
    with pytest.raises(NanLossDuringTrainingError, match="NaN loss during training, at step 10"):
        loop.run([NanTensorHook("loss")], 30, steps, session, from_step(10))
    assert session.global_step == done
    assert NanLossDuringTrainingError is errors.NanLossDuringTrainingError


def test_it_may_end_the_training_without_an_error(caplog):
    session = loop.run([NanTensorHook("loss", fail_on_nan_loss=False)], 30, 7, tensors=from_step(3))
    assert session.global_step == 7
    assert "Model diverged with loss = NaN, at step 3." in caplog.text


def test_infinity_is_no_nan():
    tensors = {"loss": lambda step: np.float32(np.inf)}
    assert loop.run([NanTensorHook("loss")], 3, tensors=tensors).global_step == 3


def test_a_tensor_may_have_several_elements():
    tensors = {"loss": lambda step: np.array([1.0, np.nan if step == 4 else 0.0])}
    with pytest.raises(NanLossDuringTrainingError, match="at step 4"):
        loop.run([NanTensorHook("loss")], 30, 3, tensors=tensors)
