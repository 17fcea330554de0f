"""train_and_evaluate on one machine and as an evaluator; what a training saves, writes and prints."""

import functools
import json
import logging
import os
import pathlib
import shutil
import threading
import time

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.summary.files import summary_iterator
from stratax.tensorflow.estimator import (
    CheckpointSaverListener,
    Estimator,
    EstimatorSpec,
    EvalSpec,
    ModeKeys,
    RunConfig,
    SessionRunHook,
    TrainSpec,
    read_eval_metrics,
    train_and_evaluate,
)
from stratax.tensorflow.v1 import train
from tests.tensorflow.estimator.test_estimator import data, estimator, model_fn, weights

evaluation = functools.partial(data, repeat=False)


class Kept(CheckpointSaverListener):
    def __init__(self):
        self.steps = []

    def after_save(self, session, global_step_value):
        self.steps.append(global_step_value)


def checkpoints(folder):
    return sorted(
        int(name.rpartition("-")[2]) for name in os.listdir(folder) if name.startswith("model.ckpt-")
    )


def test_checkpoints_come_every_so_many_steps_and_at_both_ends(tmp_path):
    kept = Kept()
    made = estimator(tmp_path, save_checkpoints_steps=3, keep_checkpoint_max=None)
    made.train(data, max_steps=7, saving_listeners=[kept])
    assert kept.steps == [0, 3, 6, 7]
    assert checkpoints(tmp_path) == [0, 3, 6, 7]


def test_without_checkpoints_nothing_is_saved(tmp_path):
    estimator(tmp_path, save_checkpoints_steps=None, save_checkpoints_secs=None).train(data, steps=2)
    assert checkpoints(tmp_path) == []


def test_a_training_that_was_interrupted_goes_on_with_the_next_example(tmp_path):
    class Stop(CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            if global_step_value == 4:
                # As a kill would: nothing is saved behind it.
                raise KeyboardInterrupt

    shuffled = lambda: data(96).unbatch().shuffle(96, seed=3).batch(8)  # noqa: E731
    whole, parts = estimator(tmp_path / "whole"), estimator(tmp_path / "parts", save_checkpoints_steps=4)
    whole.train(shuffled, max_steps=9)
    with pytest.raises(KeyboardInterrupt):
        parts.train(shuffled, max_steps=9, saving_listeners=[Stop()])
    parts.train(shuffled, max_steps=9)
    for name, value in weights(whole).items():
        assert np.array_equal(weights(parts)[name], value), name


def test_each_checkpoint_is_evaluated_on_one_machine(tmp_path):
    made = estimator(tmp_path, save_checkpoints_steps=2)
    metrics, exported = train_and_evaluate(
        made, TrainSpec(data, max_steps=5), EvalSpec(evaluation, steps=None, throttle_secs=0)
    )
    assert metrics["global_step"] == 5
    assert exported == []
    written = read_eval_metrics(made.eval_dir())
    assert list(written) == [2, 4, 5]
    assert written[5]["mae"] == pytest.approx(metrics["mae"])


def test_exporters_are_called_behind_evaluations(tmp_path):
    calls = []

    class Exporter:
        name = "mine"

        def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
            step = eval_result["global_step"]
            calls.append((os.path.basename(checkpoint_path), step, is_the_final_export))
            return export_path

    made = estimator(tmp_path, save_checkpoints_steps=2)
    _, exported = train_and_evaluate(
        made,
        TrainSpec(data, max_steps=4),
        EvalSpec(evaluation, throttle_secs=0, exporters=Exporter()),
    )
    assert exported == [os.path.join(str(tmp_path), "export", "mine")]
    assert calls == [("model.ckpt-2", 2, False), ("model.ckpt-4", 4, True)]


def cluster(monkeypatch, kind):
    task = {"cluster": {"chief": ["localhost:2222"]}, "task": {"type": kind, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))


def test_an_evaluator_evaluates_what_comes_and_ends_with_the_training(tmp_path, monkeypatch):
    trained = estimator(tmp_path, save_checkpoints_steps=2)
    cluster(monkeypatch, "evaluator")
    made = Estimator(model_fn, str(tmp_path), RunConfig(), params={})
    assert made.config.task_type == "evaluator"
    spec = EvalSpec(evaluation, throttle_secs=0, start_delay_secs=0)
    thread = threading.Thread(target=train_and_evaluate, args=(made, TrainSpec(data), spec))
    thread.start()
    try:
        # On one machine, without an end in steps: the evaluator learns that it has ended.
        train_and_evaluate(trained, TrainSpec(evaluation, max_steps=None), EvalSpec(evaluation, name="own"))
    finally:
        thread.join(60)
    assert not thread.is_alive()
    assert list(read_eval_metrics(made.eval_dir()))[-1] == 3


def test_an_evaluator_waits_with_a_limit(tmp_path, monkeypatch):
    cluster(monkeypatch, "evaluator")
    config = RunConfig(session_creation_timeout_secs=1)
    made = Estimator(model_fn, str(tmp_path), config, params={})
    began = time.monotonic()
    with pytest.raises(errors.ClusterTimeoutError, match="waited [0-9]+ seconds for a checkpoint"):
        train_and_evaluate(made, TrainSpec(data), EvalSpec(evaluation, throttle_secs=0, start_delay_secs=0))
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("every", [2, 3])
def test_a_training_that_has_ended_is_followed_by_one_that_begins_its_input_anew(tmp_path, every):
    made = estimator(tmp_path, save_checkpoints_steps=every)
    for ends_at in (3, 6):
        # Three batches, the last of which may have been saved when the input was not known to end.
        made.train(evaluation)
        assert made.get_variable_value("global_step") == ends_at


def random_model_fn(features, labels, mode):
    dropped = tf.layers.dropout(tf.layers.dense(features, 4), 0.5, training=mode == ModeKeys.TRAIN)
    loss = tf.reduce_mean(dropped**2)
    train_op = train.GradientDescentOptimizer(0.1).minimize(loss, train.get_global_step())
    return EstimatorSpec(mode, loss=loss, train_op=train_op)


def test_random_numbers_follow_from_the_seed_and_go_on_behind_an_interruption(tmp_path):
    class Stop(SessionRunHook):
        def after_run(self, run_context, run_values):
            if run_context.session.global_step == 3:
                raise KeyboardInterrupt

    config = {"tf_random_seed": 1, "save_checkpoints_steps": 2}
    whole, parts = (
        Estimator(random_model_fn, str(tmp_path / name), RunConfig(**config)) for name in ("whole", "parts")
    )
    whole.train(data, max_steps=4)
    with pytest.raises(KeyboardInterrupt):
        parts.train(data, max_steps=4, hooks=[Stop()])
    parts.train(data, max_steps=4)
    for name, value in weights(whole).items():
        assert np.array_equal(weights(parts)[name], value), name


def test_a_model_that_draws_random_numbers_goes_on_where_one_ended_that_did_not(tmp_path):
    def other(features, labels, mode):
        loss = tf.reduce_mean(tf.layers.dense(features, 4) ** 2)
        train_op = train.GradientDescentOptimizer(0.1).minimize(loss, train.get_global_step())
        return EstimatorSpec(mode, loss=loss, train_op=train_op)

    for function, ends_at in ((other, 1), (random_model_fn, 2), (other, 3)):
        made = Estimator(function, str(tmp_path), RunConfig(tf_random_seed=1))
        made.train(data, steps=1)
        assert made.get_variable_value("global_step") == ends_at


def run_evaluator(tmp_path, monkeypatch, **spec):
    cluster(monkeypatch, "evaluator")
    made = Estimator(model_fn, str(tmp_path), RunConfig(), params={})
    spec = EvalSpec(evaluation, throttle_secs=0, start_delay_secs=0, **spec)
    train_and_evaluate(made, TrainSpec(data, max_steps=2), spec)
    return made


def evaluated(made):
    """The steps of all events of evaluations, also those that come twice."""
    folder = pathlib.Path(made.eval_dir())
    return [
        event.step
        for name in sorted(folder.glob("events*"))
        for event in summary_iterator(str(name))
        if event.summary.value
    ]


def test_an_evaluator_that_is_started_again_evaluates_no_checkpoint_twice(tmp_path, monkeypatch):
    estimator(tmp_path).train(data, max_steps=2)
    for _ in range(2):
        made = run_evaluator(tmp_path, monkeypatch)
    assert evaluated(made) == [2]
    # A model that was trained anew in the folder has other values.
    shutil.rmtree(tmp_path / "model.ckpt-2")
    monkeypatch.delenv("TF_CONFIG")
    estimator(tmp_path).train(data, max_steps=2)
    run_evaluator(tmp_path, monkeypatch)
    assert evaluated(made) == [2, 2]


def test_an_evaluator_that_was_killed_before_it_exported_does_so(tmp_path, monkeypatch):
    calls = []

    class Exporter:
        name = "mine"

        def export(self, *, is_the_final_export, **_):
            calls.append(is_the_final_export)
            if len(calls) == 1:
                raise KeyboardInterrupt

    estimator(tmp_path).train(data, max_steps=2)
    with pytest.raises(KeyboardInterrupt):
        run_evaluator(tmp_path, monkeypatch, exporters=Exporter())
    for _ in range(2):
        run_evaluator(tmp_path, monkeypatch, exporters=Exporter())
    assert calls == [True, True]


def test_an_evaluator_passes_over_a_checkpoint_that_is_removed_meanwhile(tmp_path, monkeypatch):
    estimator(tmp_path, save_checkpoints_steps=1).train(data, max_steps=2)
    shutil.move(tmp_path / "model.ckpt-2", tmp_path / "later")

    def given():
        if (tmp_path / "later").exists():
            shutil.rmtree(tmp_path / "model.ckpt-1")
            shutil.move(tmp_path / "later", tmp_path / "model.ckpt-2")
        return evaluation()

    cluster(monkeypatch, "evaluator")
    made = Estimator(model_fn, str(tmp_path), RunConfig(), params={})
    spec = EvalSpec(given, throttle_secs=0, start_delay_secs=0)
    train_and_evaluate(made, TrainSpec(data, max_steps=2), spec)
    assert evaluated(made) == [2]


def test_an_evaluator_is_not_ended_by_what_an_earlier_training_has_left(tmp_path, monkeypatch):
    train_and_evaluate(estimator(tmp_path), TrainSpec(evaluation, max_steps=2), EvalSpec(evaluation))
    cluster(monkeypatch, "evaluator")
    made = Estimator(model_fn, str(tmp_path), RunConfig(session_creation_timeout_secs=1), params={})
    spec = EvalSpec(evaluation, throttle_secs=0, start_delay_secs=0)
    with pytest.raises(errors.ClusterTimeoutError, match="waited [0-9]+ seconds for a checkpoint"):
        train_and_evaluate(made, TrainSpec(data, max_steps=9), spec)


def test_an_evaluator_does_not_train(tmp_path, monkeypatch):
    cluster(monkeypatch, "evaluator")
    made = Estimator(model_fn, str(tmp_path), RunConfig(), params={})
    with pytest.raises(errors.ClusterError, match="evaluator, which does not train"):
        made.train(data, steps=1)


def test_several_tasks_that_train_need_a_strategy_of_several_workers(tmp_path, monkeypatch):
    task = {"cluster": {"chief": ["localhost:1"], "worker": ["localhost:2"]}}
    monkeypatch.setenv("TF_CONFIG", json.dumps({**task, "task": {"type": "worker", "index": 0}}))
    made = Estimator(model_fn, str(tmp_path), RunConfig(), params={})
    with pytest.raises(errors.ClusterError, match="2 tasks that train, and each of them would train alone"):
        made.train(data, steps=1)


def test_wrong_arguments_raise(tmp_path):
    made = estimator(tmp_path)
    with pytest.raises(errors.BadTypeError, match="`train_spec` must have type `TrainSpec`"):
        train_and_evaluate(made, None, EvalSpec(evaluation))
    with pytest.raises(errors.BadTypeError, match="`estimator` must have type `Estimator`"):
        train_and_evaluate(None, TrainSpec(data), EvalSpec(evaluation))


def test_a_training_prints_its_loss_and_writes_summaries(tmp_path, caplog):
    caplog.set_level(logging.INFO, "stratax")
    made = estimator(tmp_path, log_step_count_steps=2, save_summary_steps=2)
    made.train(data, steps=4)
    lines = [record.getMessage() for record in caplog.records]
    assert sum("loss = " in line and "step = " in line for line in lines) >= 2
    assert any(line.startswith("global_step/sec") for line in lines)
    written = read_eval_metrics(str(tmp_path))
    assert {step for step, values in written.items() if "loss" in values} >= {1, 3}
