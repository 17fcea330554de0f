"""`SecondOrStepTimer` says when to act, whatever a dispatch passes over."""

import types

import pytest

from stratax import errors
from stratax.tensorflow.estimator import SecondOrStepTimer
from stratax.tensorflow.estimator.hooks import _timer


def acted(timer, steps):
    found = []
    for step in steps:
        if timer.should_trigger_for_step(step):
            timer.update_last_triggered_step(step)
            found.append(step)
    return found


def test_it_acts_at_once_and_behind_so_many_steps():
    assert acted(SecondOrStepTimer(every_steps=10), range(31)) == [0, 10, 20, 30]
    assert acted(SecondOrStepTimer(every_steps=10), range(7, 71, 7)) == [7, 21, 35, 49, 63]
    assert acted(SecondOrStepTimer(every_steps=1), [3, 3, 4]) == [3, 4]


def test_it_tells_what_has_passed(monkeypatch):
    now = [5.0]
    monkeypatch.setattr(_timer, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    timer = SecondOrStepTimer(every_secs=2)
    assert timer.last_triggered_step() is None
    assert timer.update_last_triggered_step(3) == (None, None)
    now[0] = 6.5
    assert not timer.should_trigger_for_step(4)
    now[0] = 7.0
    assert timer.should_trigger_for_step(8)
    assert not timer.should_trigger_for_step(3)
    assert timer.update_last_triggered_step(8) == (2.0, 5)
    assert timer.last_triggered_step() == 8
    timer.reset()
    assert (timer.last_triggered_step(), timer.should_trigger_for_step(8)) == (None, True)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {},
            errors.BadArgumentError,
            "Exactly one of every_secs and every_steps.*every_secs=None, every_steps=N",
        ),
        (
            {"every_secs": 1, "every_steps": 1},
            errors.BadArgumentError,
            "Exactly one of every_secs and every_steps",
        ),
        (
            {"every_steps": 0},
            errors.BadArgumentError,
            "every_steps must be more than 0. Received: every_steps=0",
        ),
        ({"every_secs": "1"}, errors.BadTypeError, "every_secs must be a number. Received: every_secs='1'"),
    ],
)
def test_what_is_wrong_is_told(arguments, error, message):
    with pytest.raises(error, match=message):
        SecondOrStepTimer(**arguments)
