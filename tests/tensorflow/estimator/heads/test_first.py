"""TensorFlow 1's heads measure what TensorFlow 2's do, by its metrics."""

import pytest

import stratax.tf as tf
from tests.golden import heads_cases as given

LOGITS = {
    "binary": given.BINARY,
    "classes": given.MANY,
    "labels": given.MANY,
    "number": given.PAIRS,
    "count": given.BINARY,
    "part": given.BINARY,
}
LABELS = {
    "binary": given.YES,
    "classes": given.CLASSES,
    "labels": given.HOT,
    "number": given.NUMBERS,
    "count": given.YES,
    "part": given.YES * 0.75,
}


def test_metrics_of_all_heads_at_once_are_those_of_tensorflow_2(tmp_path):
    first, second = tf.contrib.estimator, tf.estimator
    heads = [
        first.binary_classification_head("w", thresholds=[0.4], name="binary"),
        first.multi_class_head(3, "w", name="classes"),
        first.multi_label_head(3, "w", [0.4], classes_for_class_based_metrics=[1], name="labels"),
        first.regression_head("w", 2, name="number"),
        first.poisson_regression_head("w", name="count"),
        first.logistic_regression_head("w", name="part"),
    ]

    def model_fn(features, labels, mode):
        logits = {name: features[name] for name in LOGITS}
        weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        return first.multi_head(heads, [1.0, 0.5, 1.0, 1.0, 1.0, 2.0]).create_estimator_spec(
            features, mode, logits, labels, optimizer=optimizer, regularization_losses=[weight + 2.0]
        )

    def data():
        return tf.data.Dataset.from_tensor_slices(({**LOGITS, **given.WEIGHTS}, LABELS)).batch(2)

    made = tf.estimator.Estimator(model_fn, str(tmp_path))
    found = made.evaluate(data)
    own = second.MultiHead(
        [
            second.BinaryClassHead("w", thresholds=[0.4], name="binary"),
            second.MultiClassHead(3, "w", name="classes"),
            second.MultiLabelHead(3, "w", [0.4], classes_for_class_based_metrics=[1], name="labels"),
            second.RegressionHead(2, "w", name="number"),
            second.PoissonRegressionHead(weight_column="w", name="count"),
            second.LogisticRegressionHead("w", name="part"),
        ],
        [1.0, 0.5, 1.0, 1.0, 1.0, 2.0],
    )
    metrics = own.metrics(regularization_losses=[2.0])
    metrics = own.update_metrics(metrics, given.WEIGHTS, LOGITS, LABELS, regularization_losses=[2.0])
    wanted = {key: float(metric.result()) for key, metric in metrics.items()}
    assert found.keys() - {"loss", "global_step"} == wanted.keys()
    for key, value in wanted.items():
        # Areas under precision and recall are computed otherwise.
        tolerance = 0.2 if "precision_recall" in key else 1e-4
        assert found[key] == pytest.approx(value, abs=tolerance), key
    loss = own.loss(LABELS, LOGITS, given.WEIGHTS, regularization_losses=[2.0])
    assert found["loss"] == pytest.approx(float(loss), rel=1e-5)
