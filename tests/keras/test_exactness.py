"""Training under a strategy is the training of one device: the same logs, the same weights."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import stratax as sx
from tests import stressed


def sequential():
    model = keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(1, activation="sigmoid")])
    model.compile(
        "adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(num_thresholds=20, name="auc")]
    )
    return model


@pytest.fixture(scope="module")
def run(data):
    """The arguments of a training, and the same training by Keras alone."""
    x, y = data
    kwargs = {"batch_size": 16, "epochs": 2, "validation_data": (x[:9], y[:9]), "verbose": 0}
    keras.utils.set_random_seed(0)
    model = sequential()
    return (x, y), kwargs, (model, model.fit(x, y, **kwargs))


@pytest.mark.exact
@pytest.mark.parametrize("replicas", stressed.but(lambda replicas: replicas == 4, [1, 2, 4, 8]))
def test_history_and_weights_equal_those_of_keras(replicas, mirrored, train, assert_same_training, run):
    args, kwargs, theirs = run
    ours = train(mirrored(replicas), sequential, *args, **kwargs)
    assert_same_training(ours, theirs)
    assert all(isinstance(value, float) for values in ours[1].history.values() for value in values)


@pytest.mark.parametrize(
    "make_strategy",
    [
        lambda: sx.distribute.CentralStorageStrategy([f"/cpu:{index}" for index in range(4)]),
        lambda: sx.distribute.OneDeviceStrategy("/cpu:1"),
        lambda: sx.distribute.MirroredStrategy(
            [f"/cpu:{index}" for index in range(4)], cross_device_ops=sx.distribute.RingAllReduce()
        ),
    ],
    ids=["central storage", "one device", "mirrored by a ring"],
)
def test_every_strategy_trains_alike(make_strategy, train, assert_same_training, run):
    args, kwargs, theirs = run
    assert_same_training(train(make_strategy(), sequential, *args, **kwargs), theirs)


class Subclassed(keras.Model):
    """Built lazily, on the first batch; a regularizer, an activity regularizer and a loss that it adds itself."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(8, activation="tanh", kernel_regularizer="l2", activity_regularizer="l2")
        self.head = layers.Dense(1)

    def call(self, x):
        hidden = self.hidden(x)
        self.add_loss(0.1 * ops.mean(ops.square(hidden)))
        return self.head(hidden)


def subclassed():
    model = Subclassed()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", metrics=["mae"])
    return model


def two_outputs():
    inputs = {"a": keras.Input((3,), name="a"), "b": keras.Input((3,), name="b")}
    both = layers.Dense(6, activation="relu")(layers.Concatenate()([inputs["a"], inputs["b"]]))
    outputs = {
        "sign": layers.Dense(1, activation="sigmoid", name="sign")(both),
        "size": layers.Dense(2, name="size")(both),
    }
    model = keras.Model(inputs, outputs)
    losses = {"sign": "binary_crossentropy", "size": "mse"}
    model.compile(
        "rmsprop",
        losses,
        loss_weights={"sign": 0.3, "size": 2.0},
        metrics={"sign": ["accuracy"], "size": ["mae"]},
    )
    return model


def masked():
    model = keras.Sequential(
        [layers.Embedding(11, 4, mask_zero=True), layers.SimpleRNN(5, return_sequences=True), layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    return model


def with_reduction(reduction):
    def make():
        model = keras.Sequential([layers.Dense(1)])
        model.compile(
            keras.optimizers.SGD(0.001),
            keras.losses.MeanSquaredError(reduction=reduction),
            weighted_metrics=["mae"],
        )
        return model

    return make


def normalised():
    model = keras.Sequential(
        [layers.Dense(8), layers.BatchNormalization(synchronized=True, momentum=0.5), layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def clipped(**clip):
    def make():
        model = keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.5, use_ema=True, ema_overwrite_frequency=3, **clip), "mse")
        return model

    return make


WEIGHTS = np.linspace(0, 2, 50).astype("float32")


def test_a_lazily_built_subclassed_model_with_regularizers_and_added_losses(
    mirrored, train, assert_same_training, data
):
    runs = [train(s, subclassed, *data, batch_size=16, epochs=2) for s in (mirrored(4), None)]
    assert_same_training(*runs)


def test_several_inputs_and_outputs_with_loss_weights(mirrored, train, assert_same_training, data):
    x, y = data
    inputs, targets = {"a": x[:, :3], "b": x[:, 3:]}, {"sign": y, "size": x[:, :2]}
    runs = [train(s, two_outputs, inputs, targets, batch_size=16, epochs=2) for s in (mirrored(4), None)]
    assert_same_training(*runs)


def test_masked_timesteps_count_as_on_one_device(mirrored, train, assert_same_training):
    rng = np.random.default_rng(3)
    tokens = rng.integers(1, 11, (50, 7))
    for row, length in zip(tokens, rng.integers(1, 8, 50), strict=True):
        row[length:] = 0
    targets = rng.normal(size=(50, 7, 1)).astype("float32")
    for weight in (None, WEIGHTS[:, None]):
        runs = [
            train(s, masked, tokens, targets, sample_weight=weight, batch_size=16)
            for s in (mirrored(4), None)
        ]
        assert_same_training(*runs)


@pytest.mark.parametrize("reduction", ["sum", "mean", "sum_over_batch_size", "mean_with_sample_weight"])
def test_losses_of_every_reduction_with_sample_weights(
    reduction, mirrored, train, assert_same_training, data
):
    make = with_reduction(reduction)
    runs = [train(s, make, *data, sample_weight=WEIGHTS, batch_size=16) for s in (mirrored(4), None)]
    assert_same_training(*runs)


def test_class_weights_and_a_validation_split_every_second_epoch(mirrored, train, assert_same_training, data):
    kwargs = {
        "class_weight": {0: 0.5, 1: 3.0},
        "validation_split": 0.3,
        "validation_freq": 2,
        "batch_size": 16,
    }
    runs = [train(s, sequential, *data, epochs=2, initial_epoch=0, **kwargs) for s in (mirrored(4), None)]
    assert_same_training(*runs)
    assert len(runs[0][1].history["val_loss"]) == 1


def test_synchronized_batch_normalisation_with_a_smaller_last_batch(
    mirrored, train, assert_same_training, data
):
    def plain():
        model = keras.Sequential([layers.Dense(8), layers.BatchNormalization(momentum=0.5), layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    ours = train(mirrored(4), normalised, *data, batch_size=16, epochs=2)
    assert_same_training(ours, train(None, plain, *data, batch_size=16, epochs=2), tolerance=1e-4)


@pytest.mark.parametrize("clip", [{"clipnorm": 0.05}, {"global_clipnorm": 0.05}, {"clipvalue": 0.01}])
def test_gradients_are_clipped_after_they_are_summed(clip, mirrored, train, assert_same_training, data):
    runs = [train(s, clipped(**clip), *data, batch_size=16) for s in (mirrored(4), None)]
    assert_same_training(*runs)
