"""Early stopping asks on the chief, and ends the run."""

import types

import jax.numpy as jnp
import pytest

from stratax import errors
from stratax.summary.files import FileWriter, FileWriterCache
from stratax.tensorflow.estimator import (
    StopAtStepHook,
    make_early_stopping_hook,
    make_stop_at_checkpoint_step_hook,
    stop_if_lower_hook,
)
from stratax.tensorflow.estimator.hooks import SessionRunContext
from stratax.tensorflow.v1 import summary as summary_v1
from tests.tensorflow.estimator.hooks import loop

ESTIMATOR = types.SimpleNamespace(config=None, train=None, eval_dir=None)


@pytest.mark.parametrize(("steps", "asked_at"), [(1, [1, 11, 21]), (7, [7, 21, 35])])
def test_the_function_is_asked_every_so_many_steps(steps, asked_at):
    session, asked = loop.Session(), []

    def should_stop():
        asked.append(session.global_step)
        return len(asked) == 3

    hook = make_early_stopping_hook(ESTIMATOR, should_stop, run_every_secs=None, run_every_steps=10)
    loop.run([hook], 40, steps, session)
    assert (asked, session.global_step) == (asked_at, asked_at[-1])


def test_a_function_that_ends_the_run_is_not_asked_again():
    """All workers end together, some steps later."""
    asked = []
    hook = make_early_stopping_hook(
        ESTIMATOR, lambda: not asked.append(1), run_every_secs=None, run_every_steps=1
    )
    for runs in (1, 2):
        hook.begin()
        for step in range(1, 4):
            session = loop.Session(step)
            hook.after_run(SessionRunContext(None, session), None)
        # Another training asks anew.
        assert len(asked) == runs


def test_only_the_chief_asks():
    hook = make_early_stopping_hook(ESTIMATOR, lambda: True)
    assert loop.run([hook], 3, session=loop.Session(is_chief=False)).global_step == 3
    assert loop.run([hook], 3).global_step == 1


def test_a_hook_that_ends_at_a_checkpoint_ends_at_the_step():
    hook = make_stop_at_checkpoint_step_hook(ESTIMATOR, 4)
    assert isinstance(hook, StopAtStepHook)
    assert loop.run([hook], 9).global_step == 4


def test_what_is_wrong_is_told():
    with pytest.raises(errors.BadTypeError, match="estimator must be an Estimator. Received: estimator=3"):
        make_early_stopping_hook(3, lambda: True)
    with pytest.raises(errors.BadTypeError, match="should_stop_fn must be a function.*should_stop_fn=True"):
        make_early_stopping_hook(ESTIMATOR, True)
    with pytest.raises(errors.BadArgumentError, match="Only one of run_every_secs.*Pass run_every_secs=None"):
        make_early_stopping_hook(ESTIMATOR, lambda: True, run_every_steps=3)
    with pytest.raises(errors.BadArgumentError, match="Exactly one of"):
        make_early_stopping_hook(ESTIMATOR, lambda: True, run_every_secs=None)


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


def test_a_metric_that_no_evaluation_has_is_told(tmp_path):
    writer = FileWriter(str(tmp_path))
    writer.add_summary(summary_v1.scalar("loss", jnp.float32(1)), 1)
    writer.close()
    estimator = types.SimpleNamespace(config=None, train=None, eval_dir=lambda: str(tmp_path))
    hook = stop_if_lower_hook(estimator, "los", 0.5)
    with pytest.raises(errors.BadArgumentError, match=r"there are loss. Received: metric_name='los'"):
        loop.run([hook], 1)
