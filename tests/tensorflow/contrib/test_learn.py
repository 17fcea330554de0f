"""An experiment trains, evaluates and exports an Estimator, as TensorFlow 1.15's does."""

import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import load

learn = tf.contrib.learn


def model_fn(features, labels, mode):
    w = tf.get_variable("w", (), initializer=tf.zeros_initializer())
    outputs = features["x"] * w
    if mode == learn.ModeKeys.INFER:
        exported = {"serving_default": tf.estimator.export.PredictOutput({"y": outputs})}
        return tf.estimator.EstimatorSpec(mode, predictions=outputs, export_outputs=exported)
    loss = tf.losses.mean_squared_error(labels, outputs)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    return tf.data.Dataset.from_tensors(({"x": [1.0, 2.0]}, [2.0, 4.0])).repeat(20)


def receiver():
    x = tf.placeholder(tf.float32, (None,))
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def experiment(folder, **others):
    return learn.Experiment(
        tf.estimator.Estimator(model_fn, folder), input_fn, input_fn, train_steps=3, eval_steps=1, **others
    )


def test_an_experiment_trains_evaluates_and_exports(tmp_path):
    strategy = learn.make_export_strategy(receiver, exports_to_keep=1)
    for steps in (3, 4):
        made = experiment(str(tmp_path), export_strategies=strategy)
        made._train_steps = steps
        found, exports = learn.learn_runner.run(lambda folder, made=made: made, output_dir=str(tmp_path))
    # The weight goes half of the way to 2 in each step: (1 + 4) / 2 * 2 * 0.1.
    assert found["loss"] == pytest.approx(2.5 * 2**2 / 4**4, rel=1e-5)
    assert found["global_step"] == 4
    assert [path.name for path in (tmp_path / "export" / "Servo").iterdir()] == [
        exports[0].decode().rpartition("/")[2]
    ]
    assert load(exports[0].decode()).signatures["serving_default"](x=[2.0])["y"] == pytest.approx([3.75])


def test_schedules_and_settings(tmp_path):
    def make(run_config, hparams):
        return experiment(str(tmp_path / hparams))

    config = learn.RunConfig()
    assert (
        learn.learn_runner.run(make, schedule="test", run_config=config, hparams="a")[0]["global_step"] == 1
    )
    trained = learn.learn_runner.run(make, schedule="train", run_config=config, hparams="b")
    assert trained.get_variable_value("global_step") == 3
    with pytest.raises(errors.BadArgumentError, match="schedules train, evaluate"):
        learn.learn_runner.run(make, schedule="fly", run_config=config, hparams="b")
    with pytest.raises(errors.BadArgumentError, match="output_dir, or of run_config"):
        learn.learn_runner.run(make)
    with pytest.raises(errors.BadTypeError, match=r"returns a tf.contrib.learn.Experiment"):
        learn.learn_runner.run(lambda folder: None, output_dir="a")
    with pytest.raises(errors.BadArgumentError, match="eval_metric_ops"):
        experiment(str(tmp_path), eval_metrics={})
