"""Whatever `fit` is given as input: the same training, and epochs of the length that was asked for."""

import time

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx


def linear():
    model = keras.Sequential([layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.05), "mse", metrics=["mae"])
    return model


class Sequence(keras.utils.PyDataset):
    """Batches of 16, the last one of 2."""

    def __init__(self, x, y, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y = x, y

    def __len__(self):
        return -(-len(self.x) // 16)

    def __getitem__(self, index):
        rows = slice(16 * index, 16 * (index + 1))
        return self.x[rows], self.y[rows]


def batches(x, y):
    for start in range(0, len(x), 16):
        yield x[start : start + 16], y[start : start + 16]


def forever(x, y):
    while True:
        yield from batches(x, y)


INPUTS = {
    "a dataset": lambda x, y, s: ((sx.data.Dataset.from_tensor_slices((x, y)).batch(16),), {}),
    "a distributed dataset": lambda x, y, s: (
        (s.experimental_distribute_dataset(sx.data.Dataset.from_tensor_slices((x, y)).batch(16)),),
        {},
    ),
    "a dataset per replica": lambda x, y, s: (
        (s.distribute_datasets_from_function(lambda _: sx.data.Dataset.from_tensor_slices((x, y)).batch(4)),),
        {},
    ),
    "a generator": lambda x, y, s: ((forever(x, y),), {"steps_per_epoch": 4}),
    "a PyDataset": lambda x, y, s: ((Sequence(x, y),), {}),
    "a PyDataset with workers": lambda x, y, s: ((Sequence(x, y, workers=2),), {}),
    "an endless dataset": lambda x, y, s: (
        (sx.data.Dataset.from_tensor_slices((x, y)).batch(16).repeat(),),
        {"steps_per_epoch": 4},
    ),
}


@pytest.fixture(scope="module")
def reference(data):
    keras.utils.set_random_seed(0)
    model = linear()
    history = model.fit(*data, batch_size=16, epochs=2, shuffle=False, verbose=0)
    return model, history


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input_trains_alike(kind, mirrored, train, assert_same_training, reference, data):
    strategy = mirrored(4)
    args, kwargs = INPUTS[kind](*data, strategy)
    ours = train(strategy, linear, *args, epochs=2, shuffle=False, **kwargs)
    assert_same_training(ours, reference)
    predicted = ours[0].predict(args[0], steps=kwargs.get("steps_per_epoch"), verbose=0)
    if kind != "a dataset per replica":  # Its elements are the replicas' in turn.
        assert predicted.shape == (50, 1)


def test_a_generator_that_ends_is_one_epoch(mirrored, train, reference, data):
    _, history = train(mirrored(4), linear, batches(*data), shuffle=False)
    np.testing.assert_allclose(history.history["loss"], reference[1].history["loss"][:1], rtol=1e-5)


def test_torch_loaders(mirrored, train, assert_same_training, reference, data):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = torch.utils.data.TensorDataset(*map(torch.from_numpy, data))
    ours = train(mirrored(4), linear, torch.utils.data.DataLoader(tensors, batch_size=16), epochs=2)
    assert_same_training(ours, reference)


def test_steps_per_epoch_go_on_where_the_last_epoch_stopped(mirrored, train, data):
    x = np.arange(48, dtype="float32")[:, None]

    class Sees(keras.Sequential):
        def train_step(self, data):
            rows = data[0]
            self.optimizer.apply([0.0 * v for v in self.trainable_variables], self.trainable_variables)
            return {"first": keras.ops.min(rows)}

    def make():
        model = Sees([layers.Dense(1)])
        model.compile("sgd")
        return model

    dataset = sx.data.Dataset.from_tensor_slices((x, x)).batch(8).repeat()
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(float(logs["first"]))
    )
    # The mean over two replicas of the smallest of 4 consecutive numbers each: 8 n + 2.
    train(mirrored(2), make, dataset, steps_per_epoch=4, epochs=3, callbacks=[callback])
    assert seen == [2.0, 10, 18, 26, 34, 42, 2, 10, 18, 26, 34, 42]


def test_a_finite_dataset_that_ends_within_the_epochs_warns_and_stops(mirrored, train, data):
    dataset = sx.data.Dataset.from_tensor_slices(data).batch(16)  # 4 batches
    indices = []
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: indices.append(batch))
    with pytest.warns(UserWarning, match="ran out of data"):
        _, history = train(mirrored(4), linear, dataset, steps_per_epoch=3, epochs=2, callbacks=[callback])
    assert indices == [0, 1, 2, 0]
    assert history.epoch == [0, 1]


def test_validation_steps_begin_at_the_first_batch_every_time(mirrored, train, data):
    x, y = data
    validation = sx.data.Dataset.from_tensor_slices((x, y)).batch(10)

    def frozen():
        model = keras.Sequential([layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.0), "mse")
        return model

    model, history = train(
        mirrored(2), frozen, x, y, batch_size=25, epochs=3, validation_data=validation, validation_steps=2
    )
    expected = np.mean((model.predict(x[:20], verbose=0) - y[:20]) ** 2)
    np.testing.assert_allclose(history.history["val_loss"], [expected] * 3, rtol=1e-5)


def test_class_weights_of_a_dataset(mirrored, train, assert_same_training, data):
    dataset = sx.data.Dataset.from_tensor_slices(data).batch(16)
    weights = {0: 0.5, 1: 2.0}
    ours = train(mirrored(4), linear, dataset, class_weight=weights)
    assert_same_training(ours, train(None, linear, *data, batch_size=16, shuffle=False, class_weight=weights))


def test_initial_epoch(mirrored, train, data):
    _, history = train(mirrored(2), linear, *data, batch_size=25, initial_epoch=3, epochs=5)
    assert history.epoch == [3, 4]


@pytest.fixture(scope="module")
def model():
    with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        return linear()


def test_targets_beside_a_dataset_are_refused(model, data):
    dataset = sx.data.Dataset.from_tensor_slices(data).batch(16)
    with pytest.raises(ValueError, match="y and sample_weight can't be given with a dataset"):
        model.fit(dataset, data[1])
    with pytest.raises(ValueError, match="y and sample_weight can't be given with a dataset"):
        model.evaluate(dataset, sample_weight=data[1])


def test_a_dataset_of_another_strategy_is_refused(model, mirrored, data):
    other = mirrored(4).experimental_distribute_dataset(sx.data.Dataset.from_tensor_slices(data).batch(16))
    with pytest.raises(RuntimeError, match=r"Distribute it with the model's strategy"):
        model.fit(other)


def test_class_weights_of_a_distributed_dataset_are_refused(mirrored, data):
    with mirrored(2).scope():
        model = linear()
    dataset = mirrored(2).experimental_distribute_dataset(sx.data.Dataset.from_tensor_slices(data).batch(16))
    with pytest.raises(ValueError, match="class_weight can't be used with a DistributedDataset"):
        model.fit(dataset, class_weight={0: 1.0, 1: 2.0})


def test_class_weights_of_elements_with_weights_are_refused(model, data):
    weighted = sx.data.Dataset.from_tensor_slices((*data, np.ones(50, "float32"))).batch(16)
    with pytest.raises(ValueError, match="whose elements have sample weights"):
        model.fit(weighted, class_weight={0: 1.0, 1: 2.0}, verbose=0)


def test_a_pydataset_is_notified_of_epochs_as_by_keras(mirrored, train, assert_same_training, data):
    class Told(Sequence):
        def __init__(self, *args):
            super().__init__(*args)
            self.log = []

        def __getitem__(self, index):
            self.log.append(index)
            return super().__getitem__(index)

        def on_epoch_begin(self):
            self.log.append("begin")

        def on_epoch_end(self):
            self.log.append("end")

    ours, theirs = Told(*data), Told(*data)
    # Shuffled: as many random numbers are drawn.
    assert_same_training(train(mirrored(4), linear, ours, epochs=2), train(None, linear, theirs, epochs=2))
    assert ours.log == theirs.log


def test_a_pydataset_builds_a_model_that_predicts_or_is_evaluated_first(mirrored, data):
    for call in ("predict", "evaluate"):
        with mirrored(2).scope():
            model = linear()
        getattr(model, call)(Sequence(*data), verbose=0)
        assert model.predict(Sequence(*data), verbose=0).shape == (50, 1)


@pytest.mark.parametrize("call", ["fit", "evaluate"])
def test_arrays_without_rows_are_refused(call, mirrored, data):
    x, y = data
    with mirrored(2).scope():
        model = keras.Sequential([keras.Input((6,)), layers.Dense(1)])
        model.compile("sgd", "mse")
    for _ in range(2):  # Built, and not built.
        with pytest.raises(ValueError, match="no batches"):
            getattr(model, call)(x[:0], y[:0], verbose=0)
        model.train_on_batch(x, y)


def test_no_more_is_taken_from_a_generator_than_is_used(mirrored, train, assert_same_training, data):
    """A slow one is read ahead in a thread; what follows the steps is there for the next epoch, or the next call."""

    def counted(taken, seconds):
        for element in forever(*data):
            time.sleep(seconds)
            taken.append(len(taken))
            yield element

    runs = []
    for seconds in (0.002, 0):
        taken = []
        trained, validated = counted(taken, seconds), counted(taken, seconds)
        kwargs = {"validation_data": validated, "validation_steps": 5, "steps_per_epoch": 7}
        model, _ = train(mirrored(2), linear, trained, epochs=3, **kwargs)
        runs.append((model, model.fit(trained, epochs=2, verbose=0, **kwargs)))
        model.evaluate(trained, steps=6, verbose=0)
        assert len(taken) == 5 * 7 + 5 * 5 + 6
    assert_same_training(*runs)


def test_a_generator_and_a_pydataset_as_validation_data(mirrored, train, assert_same_training, data):
    x, y = data
    for validation, steps in ((lambda: forever(x, y), 3), (lambda: Sequence(x, y), None)):
        kwargs = {"batch_size": 25, "epochs": 2, "validation_steps": steps}
        runs = [train(s, linear, x, y, validation_data=validation(), **kwargs) for s in (mirrored(2), None)]
        assert_same_training(*runs)


def test_an_empty_dataset_is_refused(model, data):
    with pytest.raises(ValueError, match="no batches"):
        model.fit(sx.data.Dataset.from_tensor_slices(data).batch(16).take(0), verbose=0)


def test_elements_that_are_no_batches_are_refused(model, data):
    with pytest.raises(ValueError, match=r"batch"):
        model.fit(sx.data.Dataset.from_tensor_slices(data), verbose=0)
