"""Exporters of `train_and_evaluate`: which checkpoints they export, and which exports they keep."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import load


def model_fn(features, labels, mode):
    weight = tf.get_variable("weight", shape=[], initializer=tf.zeros_initializer())
    found = features["x"] * weight
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": found})
    loss = tf.reduce_mean(tf.square(found - labels))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    x = np.ones(8, np.float32)
    return tf.data.Dataset.from_tensor_slices(({"x": x}, x)).repeat().batch(4)


def receiver():
    fed = {"x": tf.placeholder(tf.float32, [None])}
    return tf.estimator.export.ServingInputReceiver(fed, fed)


def trained(folder, exporters, steps=3):
    config = tf.estimator.RunConfig(model_dir=str(folder), save_checkpoints_steps=1)
    made = tf.estimator.Estimator(model_fn, config=config)
    train_spec = tf.estimator.TrainSpec(input_fn, max_steps=steps)
    eval_spec = tf.estimator.EvalSpec(
        input_fn, steps=1, exporters=exporters, throttle_secs=0, start_delay_secs=0
    )
    tf.estimator.train_and_evaluate(made, train_spec, eval_spec)
    return made


def versions(folder, name):
    return sorted(int(each.name) for each in (folder / "export" / name).iterdir())


def weight_of(folder, name, version):
    signature = load(folder / "export" / name / str(version)).signatures["serving_default"]
    return float(signature(np.ones(1, np.float32))["y"][0])


def test_each_exporter_exports_when_it_is_due(tmp_path):
    exporters = [
        tf.estimator.FinalExporter("final", receiver),
        tf.estimator.LatestExporter("latest", receiver, exports_to_keep=2),
        tf.estimator.BestExporter("best", receiver, exports_to_keep=None),
    ]
    made = trained(tmp_path, exporters)
    weight = float(made.get_variable_value("weight"))
    (final,) = versions(tmp_path, "final")
    latest = versions(tmp_path, "latest")
    assert len(latest) <= 2
    assert weight_of(tmp_path, "final", final) == weight_of(tmp_path, "latest", latest[-1]) == weight
    # Each step makes the loss smaller.
    best = versions(tmp_path, "best")
    assert weight_of(tmp_path, "best", best[-1]) == weight


def test_the_best_export_is_found_again_after_a_restart(tmp_path):
    class Stub:
        model_dir = str(tmp_path)

        def export_saved_model(self, base, *args, checkpoint_path, **kwargs):
            (tmp_path / "exports" / str(len(checkpoint_path))).mkdir(parents=True)
            return checkpoint_path

    def exported(exporter, step, loss):
        with tf.summary.create_file_writer(str(tmp_path / "eval")).as_default():
            tf.summary.scalar("loss", loss, step=step)
        result = {"loss": loss, "global_step": step}
        return exporter.export(Stub(), str(tmp_path / "exports"), "c" * step, result, False)

    first = tf.estimator.BestExporter("best", receiver)
    assert [exported(first, 1, 3.0), exported(first, 2, 2.0), exported(first, 3, 2.5)] == ["c", "cc", None]
    again = tf.estimator.BestExporter("best", receiver)
    assert [exported(again, 4, 2.4), exported(again, 5, 1.0)] == [None, "ccccc"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.estimator.FinalExporter("a", None), "needs a serving_input_receiver_fn"),
        (lambda: tf.estimator.LatestExporter("a", receiver, exports_to_keep=0), "must be a positive number"),
        (lambda: tf.estimator.BestExporter("a", receiver, compare_fn=lambda a, b: True), "best_eval_result"),
    ],
)
def test_wrong_exporters_are_told(call, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        call()
