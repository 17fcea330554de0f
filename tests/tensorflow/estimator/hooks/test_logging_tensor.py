"""`LoggingTensorHook` prints what it was asked for, and costs nothing between."""

import logging

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from stratax import cluster, errors
from stratax.tensorflow.estimator import LoggingTensorHook, SessionRunContext
from stratax.tensorflow.v1 import ModelScope, ModelState
from tests.tensorflow.estimator.hooks import loop

TENSORS = {"loss": lambda step: np.float32(step), "small": lambda step: np.array([1e-7, step])}


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "stratax")
    return lambda: [record.getMessage() for record in caplog.records]


def test_between_two_lines_it_asks_for_nothing():
    asked = []

    class Asking(LoggingTensorHook):
        def before_run(self, run_context):
            asked.append(super().before_run(run_context))
            return asked[-1]

    hook = Asking(["loss"], every_n_iter=3)
    loop.run([hook], 7, tensors=TENSORS)
    assert [arguments is not None for arguments in asked] == [True, False, False, True, False, False, True]


def test_steps_of_a_dispatch_are_counted_and_its_last_one_printed(lines):
    loop.run([LoggingTensorHook(["loss"], every_n_iter=10, formatter=str)], 6, 7, tensors=TENSORS)
    assert lines() == [f"{{'loss': {np.float32(step)!r}}}" for step in (7, 21, 35)]


def test_a_second_run_begins_anew(lines):
    hook = LoggingTensorHook(["loss"], every_n_iter=10)
    for _ in range(2):
        loop.run([hook], 3, tensors=TENSORS)
    assert lines() == ["loss = 1.0"] * 2


def test_the_last_values_are_printed_at_the_end(lines):
    loop.run([LoggingTensorHook(["loss"], at_end=True)], 3, 7, tensors=TENSORS)
    assert lines() == ["loss = 21.0"]


def test_at_the_end_besides_every_so_many_steps(lines):
    loop.run([LoggingTensorHook(["loss"], every_n_iter=5, at_end=True)], 7, tensors=TENSORS)
    assert [line.split(" (")[0] for line in lines()] == ["loss = 1.0", "loss = 6.0", "loss = 7.0"]


def test_small_numbers_are_printed_without_an_exponent(lines):
    loop.run([LoggingTensorHook({"x": "small"}, every_n_iter=5)], 1, tensors=TENSORS)
    assert lines() == ["x = [0.0000001 1.       ]"]
    assert not np.get_printoptions()["suppress"]


def test_a_tensor_of_a_list_is_called_by_its_name(lines):
    variable = keras.Variable(1.0, name="v")

    def traced(x):
        scope = ModelScope(ModelState(), "train")
        with scope.entered():
            scope.names.give("softmax", x)
            hook = LoggingTensorHook([x, variable, "named:0", x + 1], every_n_iter=1)
        assert list(hook._tensors) == ["softmax", "v", "named:0", "tensor_3"]
        return x

    jax.eval_shape(traced, jnp.float32(1))


def test_by_seconds_workers_of_a_cluster_ask_for_the_same(monkeypatch):
    # Another test may have left its own.
    monkeypatch.setattr(cluster, "current", lambda: None)
    hook = LoggingTensorHook(["loss"], every_n_secs=1000)
    context = SessionRunContext(None, loop.run([hook], 1, tensors=TENSORS))
    assert hook.before_run(context) is None
    monkeypatch.setattr(cluster, "current", lambda: "a cluster")
    assert hook.before_run(context) is not None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tensors": ["a"]}, errors.BadArgumentError, "Exactly one of every_n_iter and every_n_secs"),
        ({"tensors": ["a"], "every_n_iter": 1, "every_n_secs": 1}, errors.BadArgumentError, "Exactly one of"),
        ({"tensors": ["a"], "every_n_iter": 0}, errors.BadArgumentError, "every_n_iter must be more than 0"),
        ({"tensors": "a", "every_n_iter": 1}, errors.BadTypeError, "a dict by tag.*Received: tensors='a'"),
    ],
)
def test_what_is_wrong_is_told(arguments, error, message):
    with pytest.raises(error, match=message):
        LoggingTensorHook(**arguments)
