"""What metrics and losses are given and how results are named; the numbers are those of TensorFlow 2.15."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError

X = np.arange(20, dtype=np.float32).reshape(10, 2) / 10
Y = np.arange(10, dtype=np.float32).reshape(10, 1) / 5
TRUE = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
FOUND = [[0.2, 0.7, 0.6], [0.9, 0.3, 0.1]]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("MeanSquaredError", 0.2444),
        ("BinaryAccuracy", 0.6667),
        ("CosineSimilarity", 0.724),
        ("Hinge", 0.9111),
    ],
)
def test_one_weight_is_that_of_each_example(metric, expected):
    measure = getattr(tf.keras.metrics, metric)()
    measure.update_state(TRUE, FOUND, sample_weight=2.0)
    measure.update_state(TRUE, FOUND[::-1])
    assert float(measure.result()) == pytest.approx(expected, abs=1e-4)


def test_weights_that_are_fractions_count_in_an_intersection_over_union():
    measure = tf.keras.metrics.MeanIoU(num_classes=2)
    measure.update_state([0, 0, 1, 1], [0, 1, 0, 1], sample_weight=[0.3, 0.3, 0.3, 0.1])
    assert float(measure.result()) == pytest.approx(0.2381, abs=1e-4)


def test_losses_and_metrics_take_lists():
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    assert float(loss([0, 1], FOUND)) == pytest.approx(1.3565, abs=1e-4)
    measure = tf.keras.metrics.SparseCategoricalCrossentropy()
    measure.update_state([1, 2], [[0.05, 0.95, 0.0], [0.1, 0.8, 0.1]])
    assert float(measure.result()) == pytest.approx(1.1769, abs=1e-4)


def a_model(*names):
    inputs = tf.keras.Input((2,))
    dense = [tf.keras.layers.Dense(1, kernel_initializer="ones", name=name) for name in names]
    outputs = [layer(inputs) for layer in dense]
    return tf.keras.Model(inputs, outputs[0] if len(outputs) == 1 else outputs)


def test_results_come_output_by_output_with_their_names():
    model = a_model("second", "first")
    model.compile("sgd", "mse", metrics=["mse", "mae"])
    results = model.evaluate(X, [Y, Y + 1], verbose=0)
    assert model.metrics_names == [
        *("loss", "second_loss", "first_loss"),
        *("second_mse", "second_mae", "first_mse", "first_mae"),
    ]
    np.testing.assert_allclose(results, [1.66, 1.33, 0.33, 1.33, 1.0, 0.33, 0.5], atol=1e-5)
    by_name = model.evaluate(X, [Y, Y + 1], verbose=0, return_dict=True)
    assert results == [by_name[name] for name in model.metrics_names]
    assert model.test_on_batch(X, [Y, Y + 1]) == pytest.approx(results)


def test_what_a_model_was_compiled_with_before_is_gone():
    model = a_model("only")
    model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mse"])
    assert len(model.evaluate(X, Y, verbose=0)) == 3
    model.compile("sgd", "mse")
    assert model.evaluate(X, Y, verbose=0) == pytest.approx(1.33)
    assert model.metrics_names == ["loss"]
    model.compile("sgd")
    with pytest.raises(ValueError, match="No loss found"):
        model.fit(X, Y, verbose=0)


def test_metrics_in_one_list_are_those_of_each_output_and_may_be_the_third_argument():
    model, own = a_model("one", "two"), tf.keras.metrics.MeanAbsoluteError("mine")
    model.compile("sgd", "mse", [own, lambda y, found: y - found], [1.0, 0.5])
    names = model.evaluate(X, [Y, Y + 1], verbose=0, return_dict=True)
    assert {"one_mine", "two_mine"} <= set(names)
    assert names["loss"] == pytest.approx(1.33 + 0.33 / 2)
    assert names["two_mine"] == pytest.approx(0.5)
    model.compile("sgd", loss="mse", loss_weights={"two": 0.5})
    assert model.evaluate(X, [Y, Y + 1], verbose=0)[0] == pytest.approx(1.33 + 0.33 / 2)


def test_a_fit_without_labels_says_so():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(BadArgumentError, match="Target data is missing.*Pass y"):
        model.fit(np.ones((4, 2), "float32"), verbose=0)
