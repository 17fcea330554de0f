"""train_and_evaluate on one machine and as an evaluator; what a training saves, writes and prints."""

import functools
import json
import logging
import os
import threading
import time

import numpy as np
import pytest

from stratax import errors
from stratax.estimator import (
    CheckpointSaverListener,
    Estimator,
    EvalSpec,
    RunConfig,
    TrainSpec,
    read_eval_metrics,
    train_and_evaluate,
)
from tests.estimator.test_estimator import data, estimator, model_fn, weights

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
