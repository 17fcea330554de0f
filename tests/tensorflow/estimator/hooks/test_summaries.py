"""What hooks write for TensorBoard: speed, summaries of steps, profiles; and what early stopping reads."""

import glob
import types

import jax.numpy as jnp
import numpy as np
import pytest

from stratax import errors, summary
from stratax.summary.files import FileWriter, FileWriterCache
from stratax.tensorflow.estimator import (
    ProfilerHook,
    SessionRunArgs,
    StepCounterHook,
    SummarySaverHook,
    stop_if_lower_hook,
)
from stratax.tensorflow.estimator.hooks import read_eval_metrics
from stratax.tensorflow.v1 import summary as summary_v1
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


def test_a_global_step_that_stands_still_is_told_of(caplog):
    class Standing(loop.Session):
        global_step = property(lambda self: 3, lambda self, step: None)

    loop.run([StepCounterHook()], 9, session=Standing())
    assert caplog.text.count("the global step has not been increased; it is still 3") == 5


def test_a_profile_opens_in_tensorboard(tmp_path):
    def compute(session):
        (jnp.ones([64, 64]) @ jnp.ones([64, 64])).block_until_ready()

    loop.run([ProfilerHook(save_steps=2, output_dir=tmp_path)], 3, on_dispatch=compute)
    assert len(glob.glob(f"{tmp_path}/plugins/profile/*/*.xplane.pb")) == 1


def test_a_profile_of_a_dispatch_that_did_not_come_is_forgotten(tmp_path):
    hook, session = ProfilerHook(save_steps=1, output_dir=tmp_path), loop.Session()
    hook.begin()
    hook.after_create_session(session, None)
    hook.before_run(types.SimpleNamespace(session=session))
    hook.end(session)
    assert list(tmp_path.iterdir()) == []
    summary.trace_on(profiler=True)  # JAX has one profiler, which is free again.
    summary.trace_off()


def test_a_run_behind_one_that_failed_records_anew(tmp_path):
    hook = ProfilerHook(save_steps=1, output_dir=tmp_path)

    def fail(session):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop.run([hook], 1, on_dispatch=fail)
    loop.run([hook], 1)
    assert len(glob.glob(f"{tmp_path}/plugins/profile/*/*.xplane.pb")) == 1


def test_metrics_of_tensorflow_2s_writers_are_read_too(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        summary.scalar("loss", 0.25, step=7)
        summary.text("notes", "none", step=8)
    writer.close()
    assert read_eval_metrics(tmp_path) == {7: {"loss": 0.25}}
    assert read_eval_metrics(tmp_path / "nothing") == {}


def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path, caplog):
    writer = FileWriter(str(tmp_path))
    for step in (1, 2):
        writer.add_summary(summary_v1.scalar("loss", jnp.float32(step)), step)
    writer.close()
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    assert read_eval_metrics(tmp_path) == {1: {"loss": 1}}
    assert "The rest of an event file is passed over" in caplog.text


def test_a_metric_that_no_evaluation_has_is_told(tmp_path):
    writer = FileWriter(str(tmp_path))
    writer.add_summary(summary_v1.scalar("loss", jnp.float32(1)), 1)
    writer.close()
    estimator = types.SimpleNamespace(config=None, train=None, eval_dir=lambda: str(tmp_path))
    hook = stop_if_lower_hook(estimator, "los", 0.5)
    with pytest.raises(errors.BadArgumentError, match=r"there are loss. Received: metric_name='los'"):
        loop.run([hook], 1)


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(errors.BadArgumentError, match="Exactly one of scaffold and summary_op"):
        SummarySaverHook(save_steps=1)
    with pytest.raises(errors.BadArgumentError, match="Exactly one of every_n_steps and every_n_secs"):
        StepCounterHook(every_n_secs=1)
    with pytest.raises(
        errors.BadTypeError, match="must be a tf.compat.v1.summary.FileWriter.*Pass output_dir"
    ):
        StepCounterHook(summary_writer=summary.create_file_writer(tmp_path))
