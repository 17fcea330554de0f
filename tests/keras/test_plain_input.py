"""`fit`, `evaluate` and `predict` take Datasets and steps with TensorFlow's arguments where there is no strategy."""

import contextlib
import sys

import keras
import numpy as np
import pytest
from keras import layers, tree

import stratax as sx
from stratax import errors

X = np.linspace(-1, 1, 40, dtype="float32").reshape(20, 2)
Y = 2 * X.sum(1, keepdims=True) + 1


def dataset():
    return sx.data.Dataset.from_tensor_slices((X, Y)).batch(8)


def make(kind=keras.Model, learning_rate=0.1, **settings):
    inputs = keras.Input([2])
    model = kind(inputs, layers.Dense(1, kernel_initializer="ones")(inputs))
    model.compile(keras.optimizers.SGD(learning_rate), "mse", metrics=["mae"], **settings)
    return model


class LikeTensorFlow(keras.Model):
    """Follows the guide to `train_step` of TensorFlow."""

    def train_step(self, data):
        x, y = data
        with sx.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        for metric in self.metrics:
            metric.update_state(loss) if metric.name == "loss" else metric.update_state(y, y_pred)
        return {metric.name: metric.result() for metric in self.metrics}


@pytest.mark.parametrize(
    "settings", [{}, {"run_eagerly": True}, {"jit_compile": False}, {"steps_per_execution": 2}]
)
def test_a_dataset_is_what_arrays_are(settings):
    by_arrays, by_dataset = make(**settings), make(**settings)
    expected = by_arrays.fit(X, Y, batch_size=8, epochs=2, shuffle=False, validation_data=(X, Y), verbose=0)
    history = by_dataset.fit(dataset(), epochs=2, validation_data=dataset(), verbose=0)
    for name, values in expected.history.items():
        np.testing.assert_allclose(history.history[name], values, rtol=1e-5)
    np.testing.assert_allclose(
        by_dataset.evaluate(dataset(), verbose=0),
        by_arrays.evaluate(X, Y, batch_size=8, verbose=0),
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        by_dataset.predict(dataset(), verbose=0), by_arrays.predict(X, verbose=0), rtol=1e-5
    )


def test_every_epoch_is_a_new_pass_and_steps_per_epoch_go_on_in_the_same():
    model = make(learning_rate=0.0)  # Its loss is the mean of the numbers' squares.
    numbers = sx.data.Dataset.range(6).map(lambda n: ([float(n), 0.0], [0.0])).batch(1)
    assert model.fit(numbers, epochs=2, verbose=0).history["loss"] == pytest.approx([55 / 6, 55 / 6])
    history = model.fit(numbers.repeat(), epochs=3, steps_per_epoch=4, verbose=0)
    assert history.history["loss"] == pytest.approx([14 / 4, 42 / 4, 54 / 4])


def test_class_weights_count_and_targets_beside_a_dataset_are_refused():
    labels = (np.arange(20) % 2).astype("int32")
    losses = []
    for data in [(X, labels), (sx.data.Dataset.from_tensor_slices((X, labels)).batch(20),)]:
        model = make()
        losses.append(
            model.fit(
                *data, batch_size=20 if len(data) > 1 else None, class_weight={0: 1.0, 1: 5.0}, verbose=0
            )
        )
    np.testing.assert_allclose(losses[1].history["loss"], losses[0].history["loss"], rtol=1e-5)
    with pytest.raises(ValueError, match="y and sample_weight can't be given with a dataset"):
        make().fit(dataset(), Y, verbose=0)


def test_a_model_that_was_never_compiled_predicts():
    inputs = keras.Input([2])
    model = keras.Model(inputs, layers.Dense(1, kernel_initializer="ones")(inputs))
    assert model.predict(dataset().map(lambda x, y: x), verbose=0).shape == (20, 1)


def test_a_loaded_model_goes_on_with_a_dataset(tmp_path):
    make().save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    expected = make().fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    np.testing.assert_allclose(
        loaded.fit(dataset(), verbose=0).history["loss"], expected.history["loss"], rtol=1e-5
    )


def test_a_dataset_of_the_default_strategy_is_taken_and_one_of_another_is_refused():
    strategy = sx.distribute.get_strategy()
    expected = make().fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    history = make().fit(strategy.experimental_distribute_dataset(dataset()), verbose=0)
    np.testing.assert_allclose(history.history["loss"], expected.history["loss"], rtol=1e-5)
    mirrored = sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with pytest.raises(sx.errors.StrategyError, match="given to a model that has none"):
        make().fit(mirrored.experimental_distribute_dataset(dataset()), verbose=0)


@pytest.mark.parametrize("data", [lambda: (X, Y), lambda: (dataset(),)], ids=["arrays", "dataset"])
def test_a_train_step_with_tensorflows_arguments_trains(data):
    expected = make().fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    model = make(LikeTensorFlow)
    given = data()
    batches = {"batch_size": 8} if len(given) > 1 else {}
    history = model.fit(*given, epochs=2, shuffle=False, verbose=0, **batches)
    assert set(history.history) == set(expected.history)
    # The guide's loss is the plain mean of the batches' losses: the last, smaller one counts as much.
    assert 0 < history.history["loss"][1] < history.history["loss"][0]
    np.testing.assert_allclose(history.history["mae"], expected.history["mae"], rtol=1e-5)
    assert model.evaluate(X, Y, verbose=0)[0] < expected.history["loss"][0]
    assert model.train_on_batch(X, Y, return_dict=True)["mae"] > 0


def test_a_model_with_such_a_step_can_be_compiled_anew_and_in_a_scope():
    model = LikeTensorFlow(*[keras.Input([2])] * 2)
    strategy = sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with strategy.scope():
        scoped = make(LikeTensorFlow)
    model.compile("sgd", "mse")
    scoped.fit(dataset(), verbose=0)
    alone = make(LikeTensorFlow)
    alone.fit(dataset(), verbose=0)
    alone.compile("sgd", "mse")
    assert alone.fit(dataset(), verbose=0).history["loss"]
    assert len(scoped.trainable_variables[0].value.devices()) == 2
    assert len(alone.trainable_variables[0].value.devices()) == 1


def test_a_step_that_takes_state_stays_keras_own():
    class Stateful(keras.Model):
        def train_step(self, state, data, *, scale=1.0):
            logs, state = super().train_step(state, data)
            return {**logs, "own": 7.0}, state

    model = make(Stateful)
    history = model.fit(dataset(), verbose=0)
    assert history.history["own"] == [7.0]
    assert model.train_function.__qualname__.startswith("JAXTrainer")


def test_uncompiled_steps_are_warned_of():
    model = make(LikeTensorFlow, run_eagerly=True)
    with pytest.warns(
        RuntimeWarning, match="run_eagerly=True is ignored of a model|run_eagerly=True is ignored"
    ):
        model.fit(dataset(), verbose=0)


@pytest.mark.parametrize("call", ["fit", "evaluate", "predict"])
def test_a_dataset_without_batches_is_refused(call):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    empty = sx.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones((4, 1)))).batch(2).skip(2)
    with pytest.raises(errors.DataError, match="The input has no batches. Expected: at least one"):
        getattr(model, call)(empty, verbose=0)


@pytest.mark.parametrize("call", ["fit", "evaluate"])
def test_arrays_without_examples_are_refused(call):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(
        errors.DataError, match=f"The input of '{call}' has no batches. Expected: at least one"
    ):
        getattr(model, call)(np.ones((0, 2)), np.ones((0, 1)), verbose=0)


@pytest.mark.parametrize("has_strategy", [True, False])
def test_models_are_built_with_the_dtypes_of_a_device_of_which_jax_does_not_warn(has_strategy, monkeypatch):
    seen = []
    backend = sys.modules["keras.src.backend"]
    compute = backend.compute_output_spec

    def note(function, *args, **kwargs):
        seen.extend(leaf.dtype for leaf in tree.flatten((args, kwargs)) if hasattr(leaf, "dtype"))
        return compute(function, *args, **kwargs)

    monkeypatch.setattr(backend, "compute_output_spec", note)
    data = sx.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones((4, 1), "int64"))).batch(2)
    strategy = sx.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope() if has_strategy else contextlib.nullcontext():
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
    model.fit(data, verbose=0)
    assert "float32" in map(str, seen)
    assert not [dtype for dtype in seen if "64" in str(dtype)]


def test_a_backup_within_an_epoch_warns_that_it_holds_no_position(tmp_path):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    dataset = sx.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones((4, 1)))).batch(2)
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup", save_freq=1)
    with pytest.warns(RuntimeWarning, match="no position in the input.*OneDeviceStrategy") as caught:
        model.fit(dataset, verbose=0, callbacks=[backup])
    assert caught[0].filename == __file__


class Hits(keras.metrics.Metric):
    """Gives a variable for its result, as TensorFlow's guides do."""

    def __init__(self, name="hits"):
        super().__init__(name=name)
        self.hits = self.add_weight(name="hits", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.hits.assign_add(keras.ops.sum(keras.ops.cast(y_pred > -10, "float32")))

    def result(self):
        return self.hits


@pytest.mark.parametrize("kind", [keras.Model, LikeTensorFlow])
@pytest.mark.parametrize("strategy", [None, "mirrored"])
def test_a_metric_may_give_a_variable(kind, strategy):
    with sx.distribute.MirroredStrategy().scope() if strategy else contextlib.nullcontext():
        inputs = keras.Input([2])
        model = kind(inputs, layers.Dense(1)(inputs))
        model.compile("sgd", "mse", metrics=[Hits()])
        history = model.fit(dataset(), epochs=2, validation_data=dataset(), verbose=0).history
    assert history["hits"] == [20.0, 20.0]
    assert history["val_hits"] == [20.0, 20.0]


class Triplets(keras.Model):
    """Takes three arrays for one input, and trains them by a step of its own."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def call(self, inputs):
        return self.network(inputs)

    def train_step(self, data):
        with sx.GradientTape() as tape:
            near, far = self.network(data)
            loss = keras.ops.mean(near - far)
        variables = self.network.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return {"distance": loss}


def test_a_step_may_mean_something_else_by_a_batch_of_three_than_keras_does():
    inputs = [keras.Input([2], name=name) for name in ("anchor", "near", "far")]
    anchor, near, far = (layers.Dense(2)(each) for each in inputs)
    model = Triplets(keras.Model(inputs, [anchor - near, anchor - far]))
    model.compile(keras.optimizers.Adam(0.01))
    triplets = sx.data.Dataset.from_tensor_slices((X, X + 1, X - 1)).batch(10)
    history = model.fit(triplets, epochs=2, verbose=0).history
    assert history["distance"][1] < history["distance"][0]


def test_an_error_of_call_is_raised_where_keras_own_step_would_call_it():
    model = make()
    with pytest.raises(ValueError, match="incompatible with the layer"):
        model.fit(sx.data.Dataset.from_tensor_slices((np.ones([4, 3]), np.ones([4, 1]))).batch(2), verbose=0)
