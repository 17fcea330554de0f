"""Heads that inherit from TensorFlow 1's private classes; numbers by TensorFlow 2.15."""

import importlib

import numpy as np
import pytest

import stratax.tf as tf

v1 = tf.compat.v1
NONE = v1.losses.Reduction.NONE
X = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0], [2.0, 2.0]], np.float32)
LABELS = np.array([[1], [0], [1], [1]])
head_lib = importlib.import_module("stratax.tf.python.estimator.canned.head")
model_fn_lib = importlib.import_module("stratax.tf.python.estimator.model_fn")
keys = importlib.import_module("stratax.tf.python.estimator.canned.metric_keys").MetricKeys


class Bounded(head_lib._BinaryLogisticHeadWithSigmoidCrossEntropyLoss):
    """Its loss is the mean of the examples' losses, of each 1 at most."""

    def _create_tpu_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
    ):
        logits = head_lib._check_logits_final_dim(logits, self.logits_dimension)
        logistic = tf.sigmoid(logits)
        predictions = {"logistic": logistic, "all": head_lib._all_class_ids(logits, 2)}
        if mode == tf.estimator.ModeKeys.PREDICT:
            scores = tf.concat([1 - logistic, logistic], -1)
            output = head_lib._classification_output(scores, 2, self._label_vocabulary)
            outputs = {
                head_lib._DEFAULT_SERVING_KEY: output,
                head_lib._CLASSIFY_SERVING_KEY: output,
                head_lib._REGRESS_SERVING_KEY: tf.estimator.export.RegressionOutput(logistic),
                head_lib._PREDICT_SERVING_KEY: tf.estimator.export.PredictOutput(predictions),
            }
            return model_fn_lib._TPUEstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
        _, losses, weights, labels = self.create_loss(
            features=features, mode=mode, logits=logits, labels=labels
        )
        loss = tf.reduce_mean(tf.minimum(losses, 1.0))
        if mode == tf.estimator.ModeKeys.EVAL:
            measured = {
                "labels": labels,
                "logits": logits,
                "logistic": logistic,
                "class_ids": tf.cast(logits > 0, tf.int64),
                "weights": weights,
                "unreduced_loss": losses,
                "regularization_loss": None,
            }
            metrics = head_lib._create_eval_metrics_tuple(self._eval_metric_ops, measured)
            return model_fn_lib._TPUEstimatorSpec(
                mode, predictions=predictions, loss=loss, eval_metrics=metrics
            )
        operation = head_lib._append_update_ops(optimizer.minimize(loss, v1.train.get_global_step()))
        v1.summary.scalar(head_lib._summary_key(self._name, keys.LOSS), loss)
        return model_fn_lib._TPUEstimatorSpec(mode, predictions=predictions, loss=loss, train_op=operation)


def examples(labels):
    weights = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    return lambda: tf.data.Dataset.from_tensors(({"x": X, "v": weights}, labels)).repeat(3)


def train(head, labels, folder, units=1, **options):
    """Return the measures of a linear model that was trained for three steps, and its first prediction."""

    def model_fn(features, labels, mode):
        weights = v1.get_variable("w", [2, units], initializer=v1.constant_initializer(0.25))
        more = {"regularization_losses": [tf.reduce_sum(weights**2)]} if options else {}
        return head.create_estimator_spec(
            features=features,
            mode=mode,
            logits=tf.matmul(features["x"], weights),
            labels=labels,
            optimizer=v1.train.GradientDescentOptimizer(0.5),
            **more,
        )

    estimator = tf.estimator.Estimator(model_fn, str(folder))
    estimator.train(examples(labels), steps=3)
    return estimator.evaluate(examples(labels), steps=1), next(iter(estimator.predict(examples(labels))))


def test_a_head_of_a_program_makes_its_own_step(tmp_path):
    measured, predicted = train(Bounded(), LABELS, tmp_path)
    assert measured == pytest.approx(
        {
            "accuracy": 1.0,
            "accuracy_baseline": 0.75,
            "auc": 1.0,
            "auc_precision_recall": 1.0,
            "average_loss": 0.23922,
            "global_step": 3,
            "label/mean": 0.75,
            "loss": 0.23922,
            "precision": 1.0,
            "prediction/mean": 0.67401,
            "recall": 1.0,
        },
        abs=2e-5,
    )
    assert predicted["all"].tolist() == [0, 1]
    assert predicted["logistic"] == pytest.approx([0.8587], abs=1e-4)


def test_examples_have_weights_and_keep_their_losses(tmp_path):
    head = Bounded(weight_column="v", loss_reduction=NONE, name="h")
    measured, _ = train(head, LABELS, tmp_path)
    assert measured["loss"] == pytest.approx(0.23922, abs=2e-5)
    assert measured["average_loss/h"] == pytest.approx(0.24108, abs=2e-5)
    assert measured["prediction/mean/h"] == pytest.approx(0.69579, abs=2e-5)
    assert measured["accuracy_baseline/h"] == pytest.approx(0.8)
    total, losses, weights, labels = head.create_loss({"v": np.ones(4)}, None, X[:, :1], LABELS)
    assert total.shape == losses.shape == weights.shape == labels.shape == (4, 1)


def test_the_head_itself_sums_losses(tmp_path):
    head = head_lib._binary_logistic_or_multi_class_head(2, None, None, v1.losses.Reduction.SUM)
    measured, predicted = train(head, LABELS, tmp_path)
    assert (measured["average_loss"], measured["loss"]) == pytest.approx((0.06606, 0.26424), abs=2e-5)
    assert predicted["all_classes"].tolist() == [b"0", b"1"]


def test_several_classes(tmp_path):
    head = head_lib._multi_class_head_with_softmax_cross_entropy_loss(3, weight_column="v", name="m")
    measured, predicted = train(head, np.array([0, 2, 1, 0]), tmp_path, units=3, regularized=True)
    expected = {
        "accuracy/m": 0.5,
        "average_loss/m": 4.1437,
        "global_step": 3,
        "loss": 119.74121,
        "regularization_loss/m": 78.30425,
    }
    assert measured == pytest.approx(expected, rel=1e-5)
    assert predicted["class_ids"].tolist() == [0]
    assert isinstance(head_lib._binary_logistic_or_multi_class_head(4, None, None, NONE), type(head))


def test_numbers(tmp_path):
    measured, predicted = train(head_lib._regression_head(), LABELS.astype(np.float32), tmp_path)
    assert (measured["average_loss"], measured["loss"]) == pytest.approx((34020.25, 136081.0), rel=1e-5)
    assert predicted["predictions"].tolist() == [33.0]


def test_an_own_head_has_what_it_likes_of_the_interface():
    class Own(head_lib._Head):
        def create_estimator_spec(self, features, mode, logits, labels=None, **options):
            return tf.estimator.EstimatorSpec(mode, predictions=logits)

    assert Own().create_estimator_spec({}, "infer", {"x": X}).predictions["x"] is X
    assert isinstance(Bounded(), head_lib._Head)
    assert isinstance(Own(), head_lib._Head)
    for ask in (
        lambda: head_lib._Head().name,
        lambda: head_lib._Head().logits_dimension,
        lambda: head_lib._Head().create_loss({}, None, X, LABELS),
        lambda: head_lib._Head().create_estimator_spec({}, "infer", X),
    ):
        with pytest.raises(NotImplementedError):
            ask()


def test_classes_have_names():
    found = head_lib._all_classes(tf.zeros([2, 3]), 3, ["a", "b", "c"])
    assert found.tolist() == [[b"a", b"b", b"c"]] * 2
    with pytest.raises(ValueError, match="loss_fn must take labels and logits"):
        head_lib._validate_loss_fn_args(lambda x: x)
