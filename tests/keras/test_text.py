"""Models that take text, made with Keras alone: what the host computes of it ahead of steps, under every strategy."""

import os

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.data import Dataset
from stratax.keras import DatasetCreator
from tests.cluster.processes import run_tasks
from tests.distribute.parameter_servers import one_device, strategy_on
from tests.parameter_servers.coordination.clusters import in_process

layers = keras.layers
KIND = "tpu" if os.environ.get("STRATAX_SIMULATE", "").startswith("tpu") else "cpu"
DEVICES = [f"/{KIND}:{index}" for index in range(8)]
WORDS = np.array(["red", "blue", "green", "grey"], object)
TEXTS = (
    WORDS[np.random.default_rng(1).integers(0, 4, (48, 1))]
    + " "
    + WORDS[np.random.default_rng(2).integers(0, 4, (48, 1))]
)
COUNTS = np.random.default_rng(3).integers(0, 5, (48, 1))
X = {"text": TEXTS, "count": COUNTS}
Y = np.random.default_rng(4).normal(size=(48, 1)).astype("float32")


def model_of_text():
    """A model of words, hashed crosses and numbers."""
    text = keras.Input((1,), dtype="string", name="text")
    count = keras.Input((1,), dtype="int64", name="count")
    ids = layers.TextVectorization(vocabulary=["red", "blue", "green"], output_sequence_length=3)(text)
    parts = [
        layers.Flatten()(layers.Embedding(5, 3)(ids)),
        layers.StringLookup(vocabulary=["red red", "blue red"], output_mode="one_hot")(text),
        layers.HashedCrossing(6, output_mode="one_hot")((text, count)),
        layers.IntegerLookup(vocabulary=[1, 2, 3], output_mode="one_hot")(count),
    ]
    model = keras.Model({"text": text, "count": count}, layers.Dense(1)(layers.Concatenate()(parts)))
    for seed, weight in enumerate(model.trainable_weights):
        weight.assign(0.3 * np.random.default_rng(seed).normal(size=weight.shape))
    return model


def fitted(strategy, x=X, y=Y, **kwargs):
    """What a fit gives: losses, and predictions behind it."""
    with strategy.scope():
        model = model_of_text()
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    options = {"batch_size": 16, "shuffle": False} if y is not None else {}
    history = model.fit(x, y, epochs=2, verbose=0, **options, **kwargs).history
    return history["loss"], model.predict(X, verbose=0), model.evaluate(X, Y, verbose=0, batch_size=16)


def compare(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def expected():
    return fitted(one_device())


def dataset():
    return Dataset.from_tensor_slices((X, Y)).batch(16)


def test_a_dataset_gives_what_arrays_do(expected):
    compare(fitted(one_device(), dataset(), None), expected)


@pytest.mark.parametrize(
    "strategy",
    [
        lambda: sx.distribute.MirroredStrategy(DEVICES),
        lambda: sx.distribute.ShardedStrategy(DEVICES[:4], replicas=2),
        lambda: sx.distribute.CentralStorageStrategy(DEVICES[:2]),
    ],
)
def test_devices_together_give_what_one_gives(strategy, expected):
    compare(fitted(strategy(), dataset(), None), expected)


def test_steps_in_one_dispatch_and_a_distributed_dataset_give_the_same(expected):
    strategy = sx.distribute.MirroredStrategy(DEVICES[:2])
    with strategy.scope():
        model = model_of_text()
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", steps_per_execution=3)
    losses = model.fit(strategy.experimental_distribute_dataset(dataset()), epochs=2, verbose=0)
    np.testing.assert_allclose(losses.history["loss"], expected[0], rtol=1e-5)


def test_parameter_servers_give_what_one_device_gives(expected):
    with strategy_on(2) as strategy:
        compare(fitted(strategy, dataset(), None), expected)


def test_workers_prepare_the_text_that_they_read(expected):
    creator = DatasetCreator(lambda context: dataset().repeat())
    with in_process(servers=1, workers=1) as coordinator:
        compare(fitted(coordinator.strategy, creator, None, steps_per_epoch=3), expected)


WORKERS = """
import stratax as sx
from tests.keras.test_text import dataset, fitted
losses, predicted, loss = fitted(sx.distribute.MultiWorkerMirroredStrategy(), dataset(), None)
report(losses=losses, predicted=predicted.tolist(), loss=loss)
"""


@pytest.mark.programs
@pytest.mark.processes
def test_two_workers_give_what_one_device_gives(expected):
    for task in run_tasks(2, WORKERS):
        assert task.code == 0, task.err
        compare([task.report[name] for name in ("losses", "predicted", "loss")], expected)


TPU = """
import stratax as sx
from tests.keras.test_text import dataset, fitted
losses, predicted, loss = fitted(sx.distribute.TPUStrategy(sx.distribute.TPUClusterResolver(tpu="")), dataset(), None)
report(losses=losses, predicted=predicted.tolist(), loss=loss)
"""


@pytest.mark.programs
@pytest.mark.processes
def test_cores_of_a_tpu_give_what_one_device_gives(expected):
    (task,) = run_tasks(1, TPU, variables={"STRATAX_SIMULATE": "tpu:8", "TF_CONFIG": ""})
    assert task.code == 0, task.err
    compare([task.report[name] for name in ("losses", "predicted", "loss")], expected)


def test_arrays_are_shuffled_and_split_with_their_text():
    model = model_of_text()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    whole = model.evaluate(X, Y, verbose=0)
    first, last = (
        model.evaluate({name: each[part] for name, each in X.items()}, Y[part], verbose=0)
        for part in (slice(36), slice(36, None))
    )
    history = model.fit(X, Y, validation_split=0.25, epochs=2, verbose=0, batch_size=7).history
    np.testing.assert_allclose(history["loss"], [first] * 2, rtol=1e-5)
    np.testing.assert_allclose(history["val_loss"], [last] * 2, rtol=1e-5)
    assert model.train_on_batch(X, Y) == pytest.approx(whole, rel=1e-5)
    np.testing.assert_allclose(model.predict_on_batch(X), model(X), rtol=1e-5)


def test_text_is_computed_ahead_of_steps_and_nothing_is_called_within_them():
    from stratax.tensorflow.keras2 import layer_text

    calls = []
    inside = layer_text._in_step
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(layer_text, "_in_step", lambda *args: calls.append(args) or inside(*args))
        fitted(one_device(), dataset(), None)
    assert not calls


def test_what_layers_have_learnt_since_is_used():
    lookup = layers.StringLookup()
    lookup.adapt(np.array(["red"], object))
    model = keras.Sequential([keras.Input((1,), dtype="string"), lookup])
    assert model.predict(WORDS[:2, None], verbose=0).ravel().tolist() == [1, 0]
    lookup.adapt(np.array(["blue", "red", "red"], object))
    assert model.predict(WORDS[:2, None], verbose=0).ravel().tolist() == [1, 2]


def test_a_dataset_of_other_features_is_refused():
    model = model_of_text()
    model.compile("sgd", "mse")
    with pytest.raises(errors.BadTypeError, match="takes text.*as_string"):
        model.fit({"text": COUNTS, "count": COUNTS}, Y, verbose=0)
    with pytest.raises(errors.BadTypeError, match="takes numbers.*to_number"):
        model.fit({"text": TEXTS, "count": TEXTS}, Y, verbose=0)
    with pytest.raises(errors.BadTypeError, match="takes text"):
        model({"text": COUNTS, "count": COUNTS})
    numeric = keras.Sequential([keras.Input((1,)), layers.Dense(1)])
    numeric.compile("sgd", "mse")
    with pytest.raises(errors.BadTypeError, match="takes numbers.*to_number"):
        numeric.fit(TEXTS, Y, verbose=0)
    with pytest.raises(errors.BadTypeError, match="takes numbers.*to_number"):
        numeric.fit(Dataset.from_tensor_slices((TEXTS, Y)).batch(16), verbose=0)


def test_a_layer_without_a_vocabulary_and_words_outside_of_one_are_refused():
    model = keras.Sequential([keras.Input((1,), dtype="string"), layers.StringLookup()])
    with pytest.raises(errors.BadArgumentError, match="has no vocabulary. Call adapt"):
        model.predict(TEXTS, verbose=0)
    lookup = layers.StringLookup(vocabulary=["red"], num_oov_indices=0)
    model = keras.Sequential([keras.Input((1,), dtype="string"), lookup])
    assert model.predict(np.array([["red"]]), verbose=0).ravel().tolist() == [0]
    with pytest.raises(errors.BadArgumentError, match="found OOV values.*blue"):
        model.predict(np.array([["red"], ["blue"]]), verbose=0)
