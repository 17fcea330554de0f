"""Listeners are told of checkpoints."""

import os

import pytest

import stratax as sx
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


def test_checkpoints_are_saved_and_listeners_told(make, steps, tmp_path):
    told = []

    class Listener(es.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            told.append((global_step_value, session.global_step))
            return global_step_value >= 20

    folder = str(tmp_path / "other")
    made = make()
    made.train(features(), hooks=[es.CheckpointSaverHook(folder, save_steps=10, listeners=[Listener()])])
    expected = [0, 10, 20] if steps == 1 else [0, 14, 28]
    assert told == [(step, step) for step in expected]
    # The Estimator saves none of its own then.
    assert made.latest_checkpoint() is None
    for step in expected:
        path = os.path.join(folder, f"model.ckpt-{step}")
        assert sx.train.load_variable(path, "global_step") == step
