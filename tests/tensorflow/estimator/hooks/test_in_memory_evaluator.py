"""A model is evaluated while it trains."""

import glob
import logging

import pytest

from stratax.summary.files import FileWriterCache
from stratax.tensorflow import estimator as es
from tests.tensorflow.estimator.hooks.test_in_estimator import features, model


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "stratax")
    return lambda word: [line for line in (record.getMessage() for record in caplog.records) if word in line]


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


def test_it_is_evaluated_while_it_trains(make, steps, lines):
    made = make()
    evaluator = es.InMemoryEvaluatorHook(made, features(), steps=2, every_n_iter=14)
    made.train(features(), hooks=[evaluator], steps=28)
    at = [int(line.split()[5].rstrip(":")) for line in lines("Saving dict")]
    assert at == [0, 14, 28, 28]
    assert [name for name in glob.glob(f"{made.model_dir}/*") if "ckpt-14" in name] == []
