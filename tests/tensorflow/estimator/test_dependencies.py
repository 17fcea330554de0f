"""Updates that tensors depend on run with what needs the tensors; what hooks fetch is from before the step."""

import logging

import numpy as np
import pytest

import stratax.tf as tf

# How often TensorFlow 2.15 makes each update in 2 steps of training and 2 of evaluation: `model_fn` and `input_fn` run
# there with `tf = tensorflow.compat.v1`. In each, nothing else than its name says is behind it.
TENSORFLOWS = {
    "forward": (2, 4),
    "hidden": (2, 4),
    "loss": (2, 4),
    "product": (2, 4),
    "read": (2, 4),
    "value": (2, 4),
    "behind": (2, 4),
    "gradient": (2, 2),
    "assigned": (2, 2),
    "metric": (0, 2),
    "prediction": (0, 0),
    "unused": (0, 0),
    "same": (0, 0),
}


def input_fn():
    ones = np.ones((4, 1), np.float32)
    return tf.data.Dataset.from_tensor_slices((ones, ones)).batch(2)


def model_fn(features, labels, mode):
    counts = {name: tf.get_variable(name, (), initializer=tf.zeros_initializer()) for name in TENSORFLOWS}
    kernel = tf.get_variable("kernel", (1, 1), initializer=tf.zeros_initializer())
    ups = {name: tf.assign_add(count, 1.0) for name, count in counts.items()}
    labels = tf.ones((2, 1)) if labels is None else labels
    with tf.control_dependencies([ups["forward"]]):
        features = tf.identity(features)
    hidden = tf.matmul(features, kernel)
    with tf.control_dependencies([ups["hidden"]]):
        hidden = tf.identity(hidden)
    loss = tf.reduce_mean((hidden - labels) ** 2)
    with tf.control_dependencies([ups["loss"]]):
        loss = tf.identity(loss)
    with tf.control_dependencies([ups["product"]]):
        loss = loss * 1.0
    with tf.control_dependencies([ups["read"]]):
        read = counts["read"].read_value()
    loss = loss + 0.0 * read + 0.0 * ups["value"] - ups["value"] * 0.0
    with tf.control_dependencies([ups["behind"]]):
        # Behind the assignment it is worth what it has assigned, and not one more.
        loss = loss + 0.0 * ups["behind"]
    with tf.control_dependencies([ups["unused"]]):
        tf.identity(loss)
    with tf.control_dependencies([ups["same"]]):
        # What is assigned is the loss itself, which does not depend on that.
        kept = tf.assign(counts["unused"], loss)
    with tf.control_dependencies([kept]):
        counts["unused"].read_value()
    with tf.control_dependencies([ups["prediction"]]):
        predictions = {"hidden": tf.identity(hidden)}
    pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss, [kernel])
    with tf.control_dependencies([ups["gradient"]]):
        pairs = [(tf.identity(gradient), variable) for gradient, variable in pairs]
    applied = tf.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, tf.train.get_global_step())
    with tf.control_dependencies([ups["assigned"]]):
        ones = tf.ones_like(loss)
    ones_of = tf.get_variable("ones_of", (), initializer=tf.zeros_initializer(), trainable=False)
    train_op = tf.group(applied, tf.assign(ones_of, ones * 3.0))
    metrics = {}
    if mode == "eval":
        with tf.control_dependencies([ups["metric"]]):
            value = tf.identity(hidden)
        first, update = tf.metrics.mean(value)
        with tf.control_dependencies([update]):
            seen = tf.identity(value)
        metrics = {"first": (first, update), "second": tf.metrics.mean(seen)}
        metrics |= {f"count/{name}": (count, tf.no_op()) for name, count in counts.items()}
    given = {"train_op": train_op} if mode == "train" else {}
    loss = None if mode == "infer" else loss
    return tf.estimator.EstimatorSpec(
        mode, predictions=predictions, loss=loss, eval_metric_ops=metrics or None, **given
    )


class Recorder(tf.train.SessionRunHook):
    """Records variables of a dispatch."""

    def __init__(self, *names):
        self.names = names
        self.found = []

    def begin(self):
        self.fetches = [
            next(each for each in tf.global_variables() if each.path == name) for name in self.names
        ]

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.fetches)

    def after_run(self, run_context, run_values):
        self.found.append([float(np.ravel(value)[0]) for value in run_values.results])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("dependencies"))
    config = tf.estimator.RunConfig(log_step_count_steps=None, save_summary_steps=None)
    made = tf.estimator.Estimator(model_fn, path, config)
    recorder = Recorder("global_step", "kernel", "loss")
    made.train(input_fn, steps=2, hooks=[recorder])
    return made, recorder.found


def test_training_makes_the_updates_that_its_step_depends_on_as_tensorflow_does(trained):
    made, _ = trained
    found = {name: made.get_variable_value(name) for name in TENSORFLOWS}
    assert found == {name: steps for name, (steps, _) in TENSORFLOWS.items()}
    assert made.get_variable_value("ones_of") == 3


def test_evaluation_makes_the_updates_that_its_metrics_depend_on_once(trained):
    found = trained[0].evaluate(input_fn, steps=2)
    counts = {name: found[f"count/{name}"] for name in TENSORFLOWS}
    assert counts == {name: steps for name, (_, steps) in TENSORFLOWS.items()}
    np.testing.assert_allclose([found["first"], found["second"]], 0.36, rtol=1e-6)
    np.testing.assert_allclose(found["loss"], 0.4096, rtol=1e-6)


def test_prediction_makes_the_updates_that_predictions_depend_on(trained):
    names = ["forward", "hidden", "prediction", "loss", "metric"]
    recorder = Recorder(*names)
    assert len(list(trained[0].predict(input_fn, hooks=[recorder]))) == 4
    # Those of the training first: TensorFlow's, too, are read before the updates.
    assert recorder.found == [[2, 2, 0, 2, 0], [3, 3, 1, 2, 0]]


def test_hooks_fetch_variables_from_before_the_step_as_in_tensorflow(trained):
    _, found = trained
    np.testing.assert_allclose(found, [[0, 0, 0], [1, 0.2, 1]], rtol=1e-6)


def test_the_log_counts_steps_from_before_as_tensorflow_does(tmp_path, caplog):
    caplog.set_level(logging.INFO, "stratax")

    def small_fn(features, labels, mode):
        kernel = tf.get_variable("kernel", (1, 1), initializer=tf.zeros_initializer())
        loss = tf.reduce_mean((tf.matmul(features, kernel) - labels) ** 2)
        step = tf.train.get_global_step()
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    config = tf.estimator.RunConfig(log_step_count_steps=5, save_summary_steps=None)
    made = tf.estimator.Estimator(small_fn, str(tmp_path), config)
    for steps in (12, 7):
        made.train(lambda: input_fn().repeat(), steps=steps)
    lines = [record.getMessage() for record in caplog.records if "loss = " in record.getMessage()]
    # Of TensorFlow 2.15, which reads the step while it is counted, and prints 6 for 5 now and then.
    assert [line.split("step = ")[1].split()[0] for line in lines] == ["0", "5", "10", "12", "17"]
    losses = [float(line.split("loss = ")[1].split(",")[0]) for line in lines]
    np.testing.assert_allclose(losses, [1.0, 0.10737418, 0.011529217, 0.0047223708, 0.00050706207], rtol=1e-4)
