"""Exporters of `train_and_evaluate`: which checkpoints they export, and what they keep."""

import functools
import json
import logging
import pathlib
import shutil

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import load

BASE = "export/it"


def model_fn(features, labels, mode, params):
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    predictions = {"y": features["x"] * weight}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    if mode == tf.estimator.ModeKeys.EVAL:
        # A number for each step, by which tests say which checkpoint is the best.
        loss = tf.gather(tf.constant(params["losses"], tf.float32), tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    loss = tf.reduce_mean((predictions["y"] - labels) ** 2)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def data():
    x = np.ones([64, 1], np.float32)
    return tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x)).batch(4)


def receiver():
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def run(folder, exporter, max_steps, losses=(0,) * 9):
    config = tf.estimator.RunConfig(save_checkpoints_steps=1)
    made = tf.estimator.Estimator(model_fn, str(folder), config, params={"losses": list(losses)})
    spec = tf.estimator.EvalSpec(data, steps=1, exporters=exporter, throttle_secs=0, start_delay_secs=0)
    tf.estimator.train_and_evaluate(made, tf.estimator.TrainSpec(data, max_steps), spec)
    return made


def names(folder):
    return sorted(each.name for each in (pathlib.Path(folder) / BASE).iterdir())


def served(folder, name):
    return load(folder / BASE / name).signatures["serving_default"](np.ones([1, 1], np.float32))["y"].item()


def test_a_final_exporter_exports_once_at_the_end(tmp_path):
    made = run(tmp_path, tf.estimator.FinalExporter("it", receiver), 3)
    (only,) = names(tmp_path)
    assert served(tmp_path, only) == pytest.approx(float(made.get_variable_value("weight")))


def test_a_latest_exporter_keeps_the_newest_and_what_is_no_export(tmp_path):
    (tmp_path / BASE / "0000000005").mkdir(parents=True)
    # Of these TensorFlow's removes none either.
    (tmp_path / BASE / "7").mkdir()
    (tmp_path / BASE / "notes").mkdir()
    (tmp_path / BASE / "0000000006").write_text("a file")
    made = run(tmp_path, tf.estimator.LatestExporter("it", receiver, exports_to_keep=2), 4)
    file, first, last, other, notes = names(tmp_path)
    assert [file, other, notes] == ["0000000006", "7", "notes"]
    assert int(first) < int(last)
    # Of the checkpoints before the last one and of the last one.
    weight = float(made.get_variable_value("weight"))
    assert served(tmp_path, last) == pytest.approx(weight)
    assert 0 < served(tmp_path, first) < weight


class Exports:
    """An estimator of which only exports are looked at."""

    def __init__(self, folder):
        self.model_dir = str(folder)
        self.exported = []

    def export_saved_model(self, base, function, *, checkpoint_path, **_):
        base = pathlib.Path(base)
        (base / f"{len(list(base.iterdir())) if base.exists() else 0:010}").mkdir(parents=True)
        self.exported.append(checkpoint_path)
        return checkpoint_path.encode()


def compare(folder, exporter, losses, first_step=0, base="export"):
    made = Exports(folder)
    writer = tf.compat.v1.summary.FileWriter(str(folder / "eval"), filename_suffix=f".{first_step}")
    for step, loss in enumerate(losses, first_step):
        summary = tf.compat.v1.summary.Summary()
        summary.value.add(tag="loss", simple_value=loss)
        writer.add_summary(summary, step)
        writer.flush()
        result = {"loss": loss, "global_step": step}
        exporter.export(made, str(folder / base), f"{loss}", result, False)
    writer.close()
    return [float(each) for each in made.exported]


def test_a_best_exporter_exports_what_is_better_than_all_before(tmp_path):
    # TensorFlow 2.15 exports the same.
    assert compare(tmp_path, tf.estimator.BestExporter("it", receiver), [0.5, 0.4, 0.6, 0.4, 0.3]) == [
        0.5,
        0.4,
        0.3,
    ]


def is_higher(best_eval_result, current_eval_result):
    return current_eval_result["loss"] > best_eval_result["loss"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [0.2]),
        ({"compare_fn": is_higher}, [0.9]),
        # Nothing is known of the evaluations before.
        ({"event_file_pattern": None}, [0.9, 0.8, 0.2]),
        ({"event_file_pattern": "eval_other/*.tfevents.*"}, [0.9, 0.8, 0.2]),
    ],
)
def test_a_best_exporter_that_is_started_again_knows_the_best_evaluation(tmp_path, given, expected):
    make = functools.partial(tf.estimator.BestExporter, "it", receiver, **given)
    compare(tmp_path, make(), [0.5, 0.3, 0.6])
    assert compare(tmp_path, make(), [0.9, 0.8, 0.2], 10) == expected


def test_a_first_evaluation_is_exported_though_one_without_an_export_was_better(tmp_path):
    compare(tmp_path, tf.estimator.BestExporter("it", receiver), [0.1])
    assert compare(tmp_path, tf.estimator.BestExporter("it", receiver), [0.5, 0.4, 0.6], 10, "new") == [
        0.5,
        0.4,
    ]


def test_the_best_model_of_a_training_in_two_parts_is_kept(tmp_path):
    losses = [9.0, 5.0, 1.0, 3.0, 2.0, 0.5, 4.0]
    make = functools.partial(tf.estimator.BestExporter, "it", receiver, exports_to_keep=1)
    run(tmp_path, make(), 2, losses)
    (best,) = names(tmp_path)
    run(tmp_path, make(), 4, losses)
    assert names(tmp_path) == [best]
    run(tmp_path, make(), 6, losses)
    (better,) = names(tmp_path)
    assert int(better) > int(best)


def test_an_evaluator_of_a_cluster_exports(tmp_path, monkeypatch):
    run(tmp_path, None, 2)
    task = {"cluster": {"chief": ["localhost:2222"]}, "task": {"type": "evaluator", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    exporters = [tf.estimator.FinalExporter("it", receiver), tf.estimator.BestExporter("other", receiver)]
    made = run(tmp_path, exporters, 2)
    weight = float(made.get_variable_value("weight"))
    assert served(tmp_path, names(tmp_path)[0]) == pytest.approx(weight)
    assert len(list((tmp_path / "export/other").iterdir())) == 1


def test_an_export_that_fails_leaves_no_version(tmp_path):
    exporter = tf.estimator.LatestExporter("it", receiver, {"words.txt": str(tmp_path / "words.txt")})
    with pytest.raises(errors.FileMissingError, match="a file that is not there"):
        run(tmp_path, exporter, 2)
    assert not (tmp_path / BASE).exists()
    # What a killed process has left is no version for anybody.
    (tmp_path / BASE / ".1.abc.tmp").mkdir(parents=True)
    (tmp_path / "words.txt").write_text("a")
    run(tmp_path, exporter, 3)
    hidden, *versions = names(tmp_path)
    assert hidden == ".1.abc.tmp"
    assert len(versions) == 2
    assert all(each.isdecimal() for each in versions)


def test_an_old_export_that_cannot_be_removed_is_told(tmp_path, monkeypatch, caplog):
    def refuse(path):
        raise PermissionError("read-only")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    exporter = tf.estimator.LatestExporter("it", receiver, exports_to_keep=1)
    with caplog.at_level(logging.WARNING, "stratax"):
        compare(tmp_path, exporter, [1.0, 2.0])
    assert "Can not delete" in caplog.text
    assert len(list((tmp_path / "export").iterdir())) == 2


def test_an_exporter_of_ones_own_says_its_name_and_exports():
    class Mine(tf.estimator.Exporter):
        @property
        def name(self):
            return "mine"

    with pytest.raises(TypeError, match="export"):
        Mine()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: tf.estimator.BestExporter(),
            errors.BadTypeError,
            "needs a serving_input_receiver_fn",
        ),
        (
            lambda: tf.estimator.BestExporter("a", receiver, compare_fn=None),
            errors.BadArgumentError,
            "compare_fn must be a function",
        ),
        (
            lambda: tf.estimator.BestExporter("a", receiver, compare_fn=lambda best_eval_result: True),
            errors.BadArgumentError,
            "best_eval_result and current_eval_result",
        ),
        (
            lambda: tf.estimator.LatestExporter("a", receiver, exports_to_keep=0),
            errors.BadArgumentError,
            "must be a positive number",
        ),
        (
            lambda: tf.estimator.LatestExporter("a", receiver, exports_to_keep="5"),
            errors.BadTypeError,
            "must be a whole number",
        ),
    ],
)
def test_wrong_arguments_are_told(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_metrics_without_a_loss_need_a_function(tmp_path):
    exporter = tf.estimator.BestExporter("it", receiver)
    made = Exports(tmp_path)
    exporter.export(made, str(tmp_path / "a"), "1", {"accuracy": 1.0}, False)
    with pytest.raises(errors.BadArgumentError, match="best_eval_result has no loss"):
        exporter.export(made, str(tmp_path / "a"), "1", {"accuracy": 1.0}, False)


def test_a_bound_compare_fn_is_looked_through(tmp_path):
    def farther(best_eval_result, current_eval_result, key):
        return current_eval_result[key] > best_eval_result[key]

    exporter = tf.estimator.BestExporter("it", receiver, compare_fn=functools.partial(farther, key="loss"))
    assert compare(tmp_path, exporter, [0.5, 0.4, 0.6]) == [0.5, 0.6]
