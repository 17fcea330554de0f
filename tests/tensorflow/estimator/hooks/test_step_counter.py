"""Steps a second are counted, and a step that stands still is told of."""

import glob

import numpy as np
import pytest

from stratax.summary.files import FileWriterCache
from stratax.tensorflow.estimator import StepCounterHook, SummarySaverHook
from stratax.tensorflow.estimator.hooks import read_eval_metrics
from tests.tensorflow.estimator.hooks import loop


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


def test_hooks_share_the_file_of_a_folder(tmp_path):
    hooks = [
        StepCounterHook(every_n_steps=2, output_dir=tmp_path),
        SummarySaverHook(save_steps=3, output_dir=tmp_path, summary_op={"loss": "loss"}),
    ]
    loop.run(hooks, 7, tensors={"loss": np.float32})
    assert len(glob.glob(f"{tmp_path}/*")) == 1
    found = read_eval_metrics(tmp_path)
    assert {step: metrics["loss"] for step, metrics in found.items() if "loss" in metrics} == {
        1: 1,
        4: 4,
        7: 7,
    }
    assert [step for step, metrics in found.items() if metrics.get("global_step/sec", 0) > 0] == [3, 5, 7]


def test_a_global_step_that_stands_still_is_told_of(caplog):
    class Standing(loop.Session):
        global_step = property(lambda self: 3, lambda self, step: None)

    loop.run([StepCounterHook()], 9, session=Standing())
    assert caplog.text.count("the global step has not been increased; it is still 3") == 5
