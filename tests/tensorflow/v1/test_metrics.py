"""Metrics are TensorFlow's behind every batch; what TensorFlow gave is in `tests/golden`."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.tensorflow.v1 import metrics
from tests.golden import v1_cases, v1_references
from tests.stressed import but
from tests.tensorflow.v1.evaluated import evaluated
from tests.tensorflow.v1.test_scope import Step

REFERENCES = v1_references.read()
NAMES = sorted({name for name, *_ in v1_cases.METRICS.values()})
# Those with programs that take long to compile.
LONG = {
    "auc",
    "recall_at_k",
    "average_precision_at_k",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
    "precision_at_k",
    "mean_per_class_accuracy",
    "true_negatives_at_thresholds",
    "precision_at_thresholds",
}


@pytest.mark.parametrize("name", but(lambda name: name not in LONG, NAMES))
def test_a_metric_is_tensorflows_behind_every_batch(name):
    cases = {key: case for key, case in v1_cases.METRICS.items() if case[0] == name}
    values, updates = {key: [] for key in cases}, {key: [] for key in cases}
    pairs = []

    def body(scope, batch):
        pairs.append({key: getattr(metrics, name)(**batch[key], **cases[key][1]) for key in cases})
        scope.run([update for _, update in pairs[-1].values()])
        return {key: jnp.asarray(update) for key, (_, update) in pairs[-1].items()}

    step = Step(body, mode="eval")
    for number in range(3):
        batch = {key: case[2][number % len(case[2])] for key, case in cases.items()}
        for key, update in step(batch).items():
            updates[key].append(update)
            values[key].append(pairs[-1][key][0].result())
    for key in cases:
        wanted = REFERENCES[f"metrics|{key}"][1:]
        np.testing.assert_allclose(np.stack(values[key]), wanted, rtol=1e-5, atol=1e-6, err_msg=key)
        wanted = REFERENCES[f"metrics|{key}|update"]
        np.testing.assert_allclose(np.stack(updates[key]), wanted, rtol=1e-5, atol=1e-6, err_msg=key)
    # As before the first batch, with variables that start anew.
    for variable in step.state.variables.values():
        variable.assign(jnp.zeros(variable.shape))
    for key in cases:
        value = pairs[-1][key][0].result()
        np.testing.assert_allclose(value, REFERENCES[f"metrics|{key}"][0], rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("rows", but(lambda rows: rows == 13, [16, 13]))
def test_replicas_give_one_devices_values_also_of_a_last_batch_that_does_not_divide(rows):
    random = np.random.default_rng(5)
    data = np.concatenate(
        [random.integers(0, 2, (rows, 1)), random.uniform(size=(rows, 1)), random.uniform(0, 3, (rows, 1))], 1
    ).astype("float32")
    batches = [data[:8], data[8:]]

    def made(batch):
        labels, scores, weights = batch[:, 0], batch[:, 1], batch[:, 2]
        more = {"labels": labels, "predictions": scores, "weights": weights}
        classes = {"labels": labels, "predictions": jnp.round(scores), "weights": weights}
        return {
            "auc": metrics.auc(**more),
            "accuracy": metrics.accuracy(**classes),
            "precision": metrics.precision(**classes),
            "iou": metrics.mean_iou(**classes, num_classes=2),
            "rmse": metrics.root_mean_squared_error(**more),
            "recall_at_1": metrics.recall_at_k(
                labels.astype("int32"), jnp.stack([1 - scores, scores], -1), 1, weights=weights
            ),
            "total": metrics.mean(scores),
        }

    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])
    found, wanted = evaluated(made, batches, strategy)[0], evaluated(made, batches)[0]
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, err_msg=key)


def test_mistakes_say_what_is_wrong():
    zeros, ones = np.zeros((2, 3), np.float32), np.ones(2, np.float32)

    def body(scope):
        for call, message in (
            (lambda: metrics.accuracy(ones, zeros), r"Shapes \(2, 3\) and \(2,\) are incompatible"),
            (lambda: metrics.mean(zeros, weights=np.ones((2, 2))), "weights can not be broadcast to values"),
            (lambda: metrics.auc(ones, ones, curve="XY"), "curve must be either 'ROC' or 'PR'"),
            (lambda: metrics.auc(ones, ones, summation_method="x"), "summation_method must be one of"),
            (
                lambda: metrics.sensitivity_at_specificity(ones, ones, 1.5),
                r"`specificity` must be in the range \[0, 1\]",
            ),
            (
                lambda: metrics.specificity_at_sensitivity(ones, ones, -1),
                r"`sensitivity` must be in the range \[0, 1\]",
            ),
            (lambda: metrics.average_precision_at_k(ones, zeros, 0), "Invalid k=0"),
            (lambda: metrics.recall_at_k(np.ones((3, 1)), zeros, 1), "Labels do not fit predictions"),
        ):
            with pytest.raises(ValueError, match=message):
                call()
        with pytest.raises(TypeError, match="Collections must be a list or a tuple"):
            metrics.mean(ones, metrics_collections="mine")

    Step(body)()
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        metrics.mean(ones)
