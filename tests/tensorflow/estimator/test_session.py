"""Hooks that do not ask for anything share one program."""

import pytest

from stratax.summary.files import FileWriterCache
from stratax.tensorflow import estimator as es
from tests.tensorflow.estimator.hooks.test_in_estimator import features, model


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


@pytest.fixture(params=[1, 7])
def steps(request):
    return request.param


@pytest.fixture
def make(tmp_path, steps):
    class Made(es.Estimator):
        def _steps_per_dispatch(self):
            return steps

    def make(*make_hooks, **config):
        return Made(model(*make_hooks), str(tmp_path), es.RunConfig(tf_random_seed=1, **config))

    return make


def test_hooks_that_do_not_ask_share_one_program(make, steps, monkeypatch):
    """Each dispatch between two lines runs the program without the tensor, or the one with it: not a third one."""
    from stratax.tensorflow.estimator import _session

    programs = []
    whole = _session.SessionHooks.program

    def noted(self, *arguments):
        result = whole(self, *arguments)
        programs.append(len(self._programs))
        return result

    monkeypatch.setattr(_session.SessionHooks, "program", noted)
    hook = es.LoggingTensorHook(["global_step"], every_n_iter=10)
    make().train(features(), hooks=[hook, es.StepCounterHook(), es.StopAtStepHook(last_step=35)], steps=35)
    assert max(programs) <= 2
