"""What evaluations give, and what they write, beside TensorFlow 2.15's answers."""

import keras
import numpy as np
import pytest

import stratax.tf.compat.v1 as tf
from stratax import errors
from stratax.summary.files import summary_iterator
from stratax.tensorflow.estimator import Estimator, EstimatorSpec

ROWS = {"x": np.arange(4, dtype=np.float32)}


def batches():
    return tf.data.Dataset.from_tensor_slices(ROWS).batch(2)


def estimator(folder, make_metrics):
    def model_fn(features, labels, mode):
        step = tf.assign_add(tf.train.get_global_step(), 1)
        return EstimatorSpec(
            mode, loss=tf.constant(1.0), train_op=step, eval_metric_ops=make_metrics(features)
        )

    return Estimator(model_fn, str(folder))


def test_a_metric_may_be_several_values(tmp_path):
    def make_metrics(features):
        total = tf.reduce_sum(features["x"])
        return {
            "known": (((tf.constant(2.0), tf.constant(1)), tf.constant(3.0)), tf.no_op()),
            "of_a_batch": ((total, tf.constant(7)), tf.no_op()),
        }

    found = estimator(tmp_path, make_metrics).evaluate(batches)
    assert found["known"] == ((2.0, 1), 3.0)
    # Of the last batch, 2 + 3.
    assert found["of_a_batch"] == (5.0, 7)


def test_a_metric_may_be_a_summary_which_is_written_by_the_metrics_name(tmp_path):
    def make_metrics(features):
        return {
            "pictures": (tf.summary.image("image", tf.zeros([5, 3, 3, 1]), max_outputs=2), tf.no_op()),
            "last": (tf.summary.scalar("s", tf.reduce_sum(features["x"])), tf.no_op()),
        }

    made = estimator(tmp_path, make_metrics)
    found = made.evaluate(batches)
    assert {name: type(found[name]) for name in ("pictures", "last")} == {"pictures": bytes, "last": bytes}
    events = [event for path in tmp_path.glob("eval/*") for event in summary_iterator(str(path))]
    values = {value.tag: value for event in events for value in event.summary.value}
    assert sorted(values) == ["last/0", "loss", "pictures/0", "pictures/1"]
    assert values["last/0"].simple_value == 5.0
    assert values["pictures/1"].image.height == 3


@pytest.mark.parametrize("name", ["loss", "global_step"])
def test_the_estimators_own_names_are_refused(tmp_path, name):
    made = estimator(tmp_path, lambda features: {name: tf.metrics.mean(features["x"])})
    # In training, as in TensorFlow, nobody minds.
    made.train(batches, steps=1)
    with pytest.raises(errors.BadArgumentError, match=f"Metric with name '{name}' is not allowed"):
        made.evaluate(batches)


def test_a_metric_that_has_seen_nothing_is_refused(tmp_path):
    made = estimator(tmp_path, lambda features: {"mean": keras.metrics.Mean()})
    for run in (made.train, made.evaluate):
        with pytest.raises(errors.BadArgumentError, match=r"Please call update_state\(...\) on the metric"):
            run(batches)


def test_hooks_are_looked_at_before_the_model(tmp_path):
    made = estimator(tmp_path, lambda features: {})
    for run in (made.train, made.evaluate, lambda *args, hooks: next(made.predict(*args, hooks=hooks))):
        with pytest.raises(errors.BadTypeError, match="must be SessionRunHook instances"):
            run(lambda: 1 / 0, hooks=["no hook"])


def test_a_part_of_a_step_is_a_step(tmp_path):
    # What programs compute as rows / batch_size. TensorFlow 2.15 makes as many steps.
    made = estimator(tmp_path, lambda features: {"last": (tf.reduce_max(features["x"]), tf.no_op())})
    made.train(lambda: batches().repeat(), steps=2.5)
    assert made.get_variable_value("global_step") == 3
    made.train(lambda: batches().repeat(), max_steps=np.float32(4.25))
    assert made.get_variable_value("global_step") == 5
    assert made.evaluate(batches, steps=0.5)["last"] == 1.0
    assert made.evaluate(batches, steps=1.5)["last"] == 3.0
    for wrong in (np.nan, np.inf, "3", True):
        with pytest.raises(errors.BadTypeError, match="steps must be a number or None"):
            made.train(batches, steps=wrong)
