"""`evaluate` and `predict` see every example exactly once; the same calls batch by batch."""

import contextlib

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx
from stratax import keras as stratax_keras


@pytest.fixture
def counting():
    """A model whose output is its input and whose metric is a confusion matrix: what it saw can be counted."""

    class Confusion(keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="confusion")
            self.matrix = self.add_variable((3, 3), "zeros", name="matrix")

        def update_state(self, y_true, y_pred, sample_weight=None):
            truth = keras.ops.one_hot(keras.ops.cast(keras.ops.ravel(y_true), "int32"), 3)
            guess = keras.ops.one_hot(keras.ops.cast(keras.ops.ravel(y_pred), "int32") % 3, 3)
            self.matrix.assign_add(keras.ops.matmul(keras.ops.transpose(truth), guess))

        def result(self):
            return keras.ops.sum(self.matrix)

    with sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(4)]).scope():
        inputs = keras.Input((1,))
        model = keras.Model(inputs, layers.Rescaling(1.0)(inputs))
        model.compile("sgd", "mse", metrics=[Confusion()], steps_per_execution=3)
    return model


def test_every_example_counts_once_whatever_their_number(counting):
    for rows in range(1, 51):
        x = np.arange(rows, dtype="float32")[:, None]
        result = counting.evaluate(x, x % 3, batch_size=8, verbose=0, return_dict=True)
        assert result["confusion"] == rows
        (matrix,) = [v for v in counting.metrics_variables if v.name == "matrix"]
        np.testing.assert_array_equal(matrix.numpy(), np.diag(np.bincount(np.arange(rows) % 3, minlength=3)))
        np.testing.assert_allclose(result["loss"], np.mean((x - x % 3) ** 2), rtol=1e-5)
        np.testing.assert_array_equal(counting.predict(x, batch_size=8, verbose=0), x)
    # Three, two or one full batches at once, and a remainder of 1 to 7 examples.
    loops = stratax_keras._trainer.trainer_of(counting)._loops
    assert [loops[name].program.function.num_programs for name in ("test", "predict")] == [3 + 7] * 2


def test_callbacks_compute_with_the_outputs_of_several_steps(counting):
    x = np.arange(29, dtype="float32")[:, None]
    seen = []
    noting = keras.callbacks.LambdaCallback(
        on_predict_batch_end=lambda batch, logs: seen.append((logs["outputs"].shape, logs["outputs"] * 2))
    )
    counting.predict(x, batch_size=8, verbose=0, callbacks=[noting])
    # Three batches of 8, and a remainder of 5.
    assert [shape for shape, _ in seen] == [(24, 1), (5, 1)]
    np.testing.assert_array_equal(np.concatenate([twice for _, twice in seen]), x * 2)


def test_a_model_that_was_never_compiled_predicts_in_and_out_of_the_scope(mirrored):
    x = np.arange(20, dtype="float32").reshape(10, 2)
    with mirrored(4).scope():
        model = keras.Sequential([layers.Dense(3)])
        inside = model.predict(x, batch_size=4, verbose=0)
    np.testing.assert_allclose(model.predict(x, batch_size=4, verbose=0), inside, rtol=1e-6)
    np.testing.assert_allclose(inside, x @ model.get_weights()[0], rtol=1e-5)


def test_dicts_of_outputs_keep_their_order_with_several_steps_at_once(mirrored):
    with mirrored(4).scope():
        inputs = {"a": keras.Input((2,), name="a"), "b": keras.Input((1,), name="b")}
        outputs = {
            "sum": layers.Add()([inputs["a"], inputs["a"]]),
            "other": (layers.Rescaling(3.0)(inputs["b"]),),
        }
        model = keras.Model(inputs, outputs)
        model.compile(steps_per_execution=2)
    a, b = np.arange(44, dtype="float32").reshape(22, 2), np.arange(22, dtype="float32")[:, None]
    result = model.predict({"a": a, "b": b}, batch_size=4, verbose=0)
    np.testing.assert_array_equal(result["sum"], 2 * a)
    np.testing.assert_array_equal(result["other"][0], 3 * b)


@pytest.mark.parametrize("inside", [True, False])
def test_calls_with_one_batch_equal_those_of_keras(inside, mirrored, data):
    x, y = data
    runs = []
    for strategy in (mirrored(4), None):
        keras.utils.set_random_seed(0)
        with strategy.scope() if strategy else contextlib.nullcontext():
            model = keras.Sequential(
                [layers.Dense(4, activation="relu"), layers.Dense(1, activation="sigmoid")]
            )
            model.compile(keras.optimizers.SGD(0.5), "binary_crossentropy", metrics=["accuracy"])
        with strategy.scope() if strategy and inside else contextlib.nullcontext():
            logs = [
                *model.train_on_batch(x[:16], y[:16]),
                *model.train_on_batch(x[:10], y[:10], sample_weight=np.linspace(0, 1, 10)),
                *model.train_on_batch(x[:16], y[:16], class_weight={0: 1.0, 1: 4.0}),
                *model.test_on_batch(x[:16], y[:16], return_dict=True).values(),
                *model.test_on_batch(x[:7], y[:7]),
            ]
            predicted = model.predict_on_batch(x[:7])
        assert isinstance(predicted, np.ndarray)
        runs.append((np.array(logs, "float64"), predicted))
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-5)
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-5)


def test_sample_weight_and_class_weight_together_are_refused(mirrored, data):
    with mirrored(2).scope():
        model = keras.Sequential([layers.Dense(1)])
        model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="class_weight"):
        model.train_on_batch(*data, sample_weight=np.ones(50), class_weight={0: 1.0, 1: 2.0})


@pytest.mark.parametrize(
    ("size", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)]
)
def test_a_batch_size_that_is_none_is_refused(size, error, mirrored, data):
    with mirrored(2).scope():
        model = keras.Sequential([layers.Dense(1)])
        model.compile("sgd", "mse")
    for call in (
        lambda: model.fit(*data, batch_size=size),
        lambda: model.evaluate(*data, batch_size=size),
        lambda: model.predict(data[0], batch_size=size),
    ):
        with pytest.raises(error, match=r"batch_size.*Received: batch_size="):
            call()
