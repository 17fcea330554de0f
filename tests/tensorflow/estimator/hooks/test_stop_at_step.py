"""`StopAtStepHook` ends a run."""

import pytest

from stratax import errors
from stratax.tensorflow.estimator import StopAtStepHook
from tests.tensorflow.estimator.hooks import loop


@pytest.mark.parametrize(("steps", "last"), [(1, 16), (7, 21)])
def test_a_run_ends_behind_the_dispatch_that_reaches_the_step(steps, last):
    assert loop.run([StopAtStepHook(num_steps=16)], 30, steps).global_step == last
    assert loop.run([StopAtStepHook(last_step=16)], 30, steps).global_step == last


def test_each_run_counts_from_its_beginning():
    hook = StopAtStepHook(num_steps=3)
    assert loop.run([hook], 30).global_step == 3
    assert loop.run([hook], 30, session=loop.Session(10)).global_step == 13


def test_exactly_one_of_both_is_given():
    for arguments in ({}, {"num_steps": 1, "last_step": 1}):
        with pytest.raises(errors.BadArgumentError, match="Exactly one of num_steps and last_step"):
            StopAtStepHook(**arguments)
