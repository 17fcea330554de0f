"""`TrainSpec` and `EvalSpec` check what `train_and_evaluate` is told."""

import types

import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow.estimator import CheckpointSaverListener, EvalSpec, SessionRunHook, TrainSpec


def input_fn():
    return None


def exporter(name):
    return types.SimpleNamespace(name=name, export=print)


def test_fields_have_tensorflows_order_and_defaults():
    assert tuple(TrainSpec(input_fn)) == (input_fn, None, (), ())
    assert EvalSpec(input_fn)._asdict() == {
        "input_fn": input_fn,
        "steps": 100,
        "name": None,
        "hooks": (),
        "exporters": (),
        "start_delay_secs": 120,
        "throttle_secs": 600,
    }


def test_what_is_given_is_kept():
    hook, listener = SessionRunHook(), CheckpointSaverListener()
    train = TrainSpec(input_fn, np.int64(3), [hook], [listener])
    assert tuple(train) == (input_fn, 3, (hook,), (listener,))
    one = exporter("a")
    assert EvalSpec(input_fn, None, "test", [hook], one, 0, 0.5).exporters == (one,)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TrainSpec(3), errors.BadTypeError, "input_fn must be a function.*Received: input_fn=3"),
        (lambda: TrainSpec(input_fn, 0), errors.BadArgumentError, "Must specify max_steps > 0.*max_steps=0"),
        (lambda: TrainSpec(input_fn, "5"), errors.BadTypeError, "max_steps must be a number.*'5'"),
        (
            lambda: TrainSpec(input_fn, hooks=[1]),
            errors.BadTypeError,
            "All hooks must be SessionRunHook inst",
        ),
        (
            lambda: TrainSpec(input_fn, saving_listeners=[1]),
            errors.BadTypeError,
            "All saving_listeners must be CheckpointSaverListener instances",
        ),
        (lambda: EvalSpec(None), errors.BadTypeError, "input_fn must be a function"),
        (lambda: EvalSpec(input_fn, -1), errors.BadArgumentError, "Must specify steps > 0.*steps=-1"),
        (lambda: EvalSpec(input_fn, name=1), errors.BadTypeError, "name must be a string. Received: name=1"),
        (lambda: EvalSpec(input_fn, hooks=[1]), errors.BadTypeError, "All hooks must be"),
        (lambda: EvalSpec(input_fn, exporters=[1]), errors.BadTypeError, "exporters must be an Exporter"),
        (
            lambda: EvalSpec(input_fn, exporters=[exporter("a"), exporter("a")]),
            errors.BadArgumentError,
            r"a name of its own.*names=\['a', 'a'\]",
        ),
        (lambda: EvalSpec(input_fn, exporters=exporter("")), errors.BadArgumentError, "a name of its own"),
        (
            lambda: EvalSpec(input_fn, start_delay_secs=-1),
            errors.BadArgumentError,
            "start_delay_secs >= 0.*=-1",
        ),
        (lambda: EvalSpec(input_fn, throttle_secs=-1), errors.BadArgumentError, "throttle_secs >= 0.*=-1"),
    ],
)
def test_what_is_wrong_is_told(make, error, message):
    with pytest.raises(error, match=message):
        make()
