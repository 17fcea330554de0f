"""Hooks that do not ask for anything share one program."""

import numpy as np
import pytest

from stratax.summary.files import FileWriterCache
from stratax.tensorflow import estimator as es
from stratax.tensorflow import feature_column
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


@pytest.fixture
def programs(monkeypatch):
    """How many programs there are after each dispatch."""
    from stratax.tensorflow.estimator import _session

    found = []
    whole = _session.SessionHooks.program

    def noted(self, *arguments):
        result = whole(self, *arguments)
        found.append(len(self._programs))
        return result

    monkeypatch.setattr(_session.SessionHooks, "program", noted)
    return found


def test_hooks_that_do_not_ask_share_one_program(make, steps, programs):
    """Each dispatch between two lines runs the program without the tensor, or the one with it: not a third one."""
    hook = es.LoggingTensorHook(["global_step"], every_n_iter=10)
    make().train(features(), hooks=[hook, es.StepCounterHook(), es.StopAtStepHook(last_step=35)], steps=35)
    assert max(programs) <= 2


def test_layers_of_a_canned_model_that_are_summarized_need_no_second_program(tmp_path, programs):
    """The first step's summaries take the activations; they stay among the results afterwards."""
    x = np.random.default_rng(0).standard_normal((128, 3)).astype(np.float32)
    column = feature_column.numeric_column("x", shape=3)
    classifier = es.DNNClassifier([100], [column], str(tmp_path))
    classifier.train(lambda: ({"x": x}, x[:, 0] > 0), steps=3)
    assert programs == [1, 1, 1]
