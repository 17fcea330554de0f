"""Metrics are TensorFlow's behind every batch; what TensorFlow gave is in `tests/golden`."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import metrics
from tests.golden import v1_cases, v1_references
from tests.stressed import but
from tests.tensorflow.v1.test_scope import Step

pytestmark = pytest.mark.exact

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


def evaluated(made, batches, strategy=None):
    """The pairs of a body behind all batches, whose parts the replicas of a strategy take."""
    state, pairs = v1.ModelState(1), []

    def step(batch):
        with v1.ModelScope(state, "eval").entered(batch) as scope:
            pairs.append(made(batch))
            scope.run([update for _, update in pairs[-1].values()])

    if strategy is None:
        program = sx.function(step, autograph=False)
        for batch in batches:
            program(batch)
    else:
        with strategy.scope():
            program = sx.function(lambda batch: strategy.run(step, (batch,)), autograph=False)
            rows = np.concatenate(batches)
            dataset = sx.data.Dataset.from_tensor_slices(rows).batch(len(batches[0]))
            for batch in strategy.experimental_distribute_dataset(dataset):
                program(batch)
    return {key: np.asarray(value.result()) for key, (value, _) in pairs[-1].items()}, state


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


def test_a_number_of_each_step_counts_once_for_each_replica():
    data = np.arange(16, dtype=np.float32)[:, None]
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])
    found, _ = evaluated(
        lambda batch: {"loss": metrics.mean(jnp.mean(batch))}, [data[:8], data[8:11]], strategy
    )
    # The remainder is computed by one replica for all four.
    np.testing.assert_allclose(found["loss"], (np.mean(data[:8]) + np.mean(data[8:11])) / 2)


def test_arithmetic_with_values_is_done_when_they_are_read():
    def made(batch):
        first, update = metrics.mean(batch)
        second, other = metrics.mean(2 * batch)
        updates = v1.group(update, other)
        values = {
            "difference": second - first,
            "error": 1 - first,
            "product": 3 * first * second,
            "ratio": first / second,
            "inverse": 1 / first,
            "sum": 1 + first + second,
            "power": -(first**2),
            "float32": np.float32(2.0) * first,
            "array": np.ones(2, np.float32) - first,
        }
        return {key: (value, updates) for key, value in values.items()}

    found, _ = evaluated(made, [np.full(3, 1.0, "f4"), np.full(3, 3.0, "f4")])
    wanted = {
        "difference": 2,
        "error": -1,
        "product": 24,
        "ratio": 0.5,
        "inverse": 0.5,
        "sum": 7,
        "power": -4,
    }
    for key, value in {**wanted, "float32": 4, "array": [-1, -1]}.items():
        np.testing.assert_allclose(found[key], value, err_msg=key)


def test_an_element_of_a_value_is_one_of_a_value():
    found, _ = evaluated(
        lambda batch: {"part": (lambda pair: (pair[0][1], pair[1]))(metrics.mean_tensor(batch))},
        [np.array([1.0, 2.0], "f4"), np.array([3.0, 6.0], "f4")],
    )
    assert found["part"] == 4.0


def test_an_update_read_as_a_tensor_is_the_value_behind_the_batch():
    read = []

    def body(scope, batch):
        value, update = metrics.mean(batch)
        before, early = jnp.asarray(value), jnp.asarray(update)
        with v1.control_dependencies([update]):
            inside = jnp.asarray(update)
        read.append(value)
        scope.run(None)
        return before, early, inside, jnp.asarray(update)

    step = Step(body)
    np.testing.assert_allclose(step(np.float32([1, 3])), [0, 2, 2, 2])
    # It was read, so the batch was added, although nothing ran it.
    np.testing.assert_allclose(step(np.float32([5, 5])), [2, 3.5, 3.5, 3.5])
    assert float(read[-1]) == 3.5


def test_variables_are_called_as_tensorflows_and_collected():
    def body(scope, batch):
        labels = batch.astype("int32")
        pairs = [
            metrics.accuracy(labels, labels, metrics_collections=["mine"], updates_collections=("theirs",)),
            metrics.accuracy(labels, labels),
            metrics.precision(labels, labels, name="own"),
            metrics.auc(labels, batch),
            metrics.recall_at_k(labels, jnp.stack([batch, batch], -1), 2),
        ]
        assert scope.get_collection("mine") == [pairs[0][0]]
        assert scope.get_collection("theirs") == [pairs[0][1]]
        variables = scope.get_collection("metric_variables")
        assert scope.get_collection("local_variables") == variables
        assert not any(variable.trainable for variable in variables)
        assert [each.path for each in pairs[0][0].variables] == ["accuracy/total", "accuracy/count"]
        scope.run([update for _, update in pairs])

    step = Step(body)
    step(np.float32([0, 1, 1]))
    assert set(step.names) == {
        *("accuracy/total", "accuracy/count", "accuracy_1/total", "accuracy_1/count"),
        *("own/true_positives/count", "own/false_positives/count"),
        *("auc/true_positives", "auc/false_negatives", "auc/true_negatives", "auc/false_positives"),
        *("recall_at_2/true_positive_at_2", "recall_at_2/false_negative_at_2"),
    }
    assert {variable.aggregation for variable in step.state.variables.values()} == {"sum"}


def test_metrics_of_keras_stand_beside_them():
    metric = keras.metrics.Mean()

    def body(scope, batch):
        _, update = metrics.mean(batch)
        metric.update_state(batch)
        scope.run(update)

    step = Step(body)
    step(np.float32([1, 3]))
    assert float(metric.result()) == 2.0


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
