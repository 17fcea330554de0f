"""Summaries are written every so many steps, by the chief alone."""

import types

import jax.numpy as jnp
import numpy as np
import pytest

from stratax import errors, summary
from stratax.summary.files import FileWriter, FileWriterCache
from stratax.tensorflow.estimator import ProfilerHook, SessionRunArgs, StepCounterHook, SummarySaverHook
from stratax.tensorflow.estimator.hooks import read_eval_metrics
from stratax.tensorflow.v1 import summary as summary_v1
from tests.tensorflow.estimator.hooks import loop


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


@pytest.mark.parametrize(("steps", "written"), [(1, [1, 11]), (7, [7, 21, 35])])
def test_a_dispatch_writes_its_last_step(tmp_path, steps, written):
    hook = SummarySaverHook(save_steps=10, output_dir=tmp_path, summary_op={"loss": "loss"})
    loop.run([hook], 12 if steps == 1 else 6, steps, tensors={"loss": np.float32})
    assert read_eval_metrics(tmp_path) == {step: {"loss": step} for step in written}


def test_summaries_of_tensorflow_1_are_written(tmp_path):
    # Outside of a model, a summary has the tensor itself.
    made = summary_v1.scalar("loss", jnp.float32(0.5))

    class Given(SummarySaverHook):
        def after_run(self, run_context, run_values):
            super().after_run(run_context, run_values._replace(results=[made]))

    hook = Given(save_steps=2, output_dir=tmp_path, summary_op="op")
    loop.run([hook], 3, tensors={"op": lambda step: 0})
    assert read_eval_metrics(tmp_path) == {1: {"loss": 0.5}, 3: {"loss": 0.5}}


def test_other_workers_than_the_chief_write_nothing(tmp_path):
    writer = FileWriter(str(tmp_path))
    hooks = [
        StepCounterHook(every_n_steps=1, summary_writer=writer),
        SummarySaverHook(save_steps=1, summary_writer=writer, summary_op={"loss": "loss"}),
        ProfilerHook(save_steps=1, output_dir=tmp_path / "profile"),
    ]
    loop.run(hooks, 3, session=loop.Session(is_chief=False), tensors={"loss": np.float32})
    assert read_eval_metrics(tmp_path) == {}
    assert not (tmp_path / "profile").exists()


def test_a_worker_without_a_writer_asks_for_the_same():
    hook, session = SummarySaverHook(save_steps=2, summary_op={"loss": "loss"}), loop.Session(is_chief=False)
    assert hook.before_run(types.SimpleNamespace(session=session)) == SessionRunArgs(["loss"])
    loop.run([hook], 3, tensors={"loss": np.float32})


def test_a_scaffold_has_the_summaries(tmp_path):
    scaffold = types.SimpleNamespace(summary_op=None)
    hook = SummarySaverHook(save_steps=1, output_dir=tmp_path, scaffold=scaffold)
    loop.run([hook], 1)
    scaffold.summary_op = [{"a": "loss"}, {"b": "loss"}]
    loop.run([hook], 1, tensors={"loss": np.float32})
    assert read_eval_metrics(tmp_path) == {1: {"a": 1, "b": 1}}


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(errors.BadArgumentError, match="Exactly one of scaffold and summary_op"):
        SummarySaverHook(save_steps=1)
    with pytest.raises(errors.BadArgumentError, match="Exactly one of every_n_steps and every_n_secs"):
        StepCounterHook(every_n_secs=1)
    with pytest.raises(
        errors.BadTypeError, match="must be a tf.compat.v1.summary.FileWriter.*Pass output_dir"
    ):
        StepCounterHook(summary_writer=summary.create_file_writer(tmp_path))
