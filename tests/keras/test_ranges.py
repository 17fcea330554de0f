"""Labels and ids out of range in `fit`, `evaluate` and `predict`: errors, and the weights stay as they were."""

import keras
import numpy as np
import pytest

import stratax as sx

X = np.random.default_rng(0).random((32, 4)).astype(np.float32)
GOOD = np.arange(32) % 3
BAD = np.where(np.arange(32) == 21, 7, GOOD)
IDS = np.stack([np.arange(32) % 5, np.full(32, 99)], 1).astype(np.int32)
WRONG_IDS = np.where(np.arange(32)[:, None] == 21, 5, IDS).astype(np.int32)
SCOPES = {
    "plain": None,
    "one device": lambda: sx.distribute.OneDeviceStrategy("/cpu:0"),
    "mirrored": lambda: sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)]),
}


def classifier(strategy, steps=1):
    def make():
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="softmax")])
        model.compile("adam", "sparse_categorical_crossentropy", steps_per_execution=steps)
        return model

    return made(strategy, make)


def lookup(strategy):
    def make():
        ids = keras.layers.Input((2,), dtype="int32")
        model = keras.Model(ids, keras.layers.Dense(3)(keras.layers.Embedding(5, 2)(ids[:, 0])))
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    return made(strategy, make)


def made(strategy, make):
    if strategy is None:
        return make()
    with strategy().scope():
        return make()


def weights(model):
    return [np.array(variable) for variable in (*model.variables, *model.optimizer.variables)]


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_label_that_is_no_class_raises_and_changes_nothing(scope, steps):
    model = classifier(SCOPES[scope], steps)
    settings = {"batch_size": 8, "verbose": 0}
    model.fit(X, GOOD, **settings)
    before = weights(model)
    with pytest.raises(sx.errors.BadArgumentError, match=r"label value of 7 .* valid range of \[0, 3\)"):
        # Of four batches the third has it: with one step at a time two run before.
        model.fit(X[16:], BAD[16:], shuffle=False, **settings)
    for variable, value in zip(weights(model)[:2], before, strict=False):
        np.testing.assert_array_equal(variable, value)
    with pytest.raises(sx.errors.BadArgumentError, match="label value of 7"):
        model.evaluate(X, BAD, **settings)
    model.fit(X, GOOD, **settings)
    assert np.isfinite(model.evaluate(X, GOOD, **settings))


@pytest.mark.parametrize("scope", SCOPES)
def test_an_id_of_no_row_raises(scope):
    model = lookup(SCOPES[scope])
    model.fit(IDS, GOOD, batch_size=8, verbose=0)
    for call in (model.fit, model.evaluate):
        with pytest.raises(sx.errors.BadArgumentError, match=r"= 5 is not in \[-5, 5\)"):
            call(WRONG_IDS, GOOD, batch_size=8, verbose=0)
    with pytest.raises(sx.errors.BadArgumentError, match=r"= 5 is not in \[-5, 5\)"):
        model.predict(WRONG_IDS, verbose=0)
    assert np.isfinite(model.predict(IDS, verbose=0)).all()


@pytest.mark.parametrize("scope", SCOPES)
def test_a_class_that_is_ignored_is_no_error(scope):
    def make():
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=7))
        return model

    assert np.isfinite(made(SCOPES[scope], make).fit(X, BAD, verbose=0).history["loss"][0])


def test_a_plain_step_is_traced_once():
    class Counted(keras.Sequential):
        traces = 0

        def compute_loss(self, *args, **kwargs):
            Counted.traces += 1
            return super().compute_loss(*args, **kwargs)

    model = Counted([keras.layers.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    model.train_on_batch(X, X[:, :3])  # Keras builds what it compiled.
    Counted.traces = 0
    model.fit(X[:16], X[:16, :3], batch_size=8, epochs=3, verbose=0)
    assert Counted.traces == 1


def test_a_pass_that_fails_gives_a_plain_model_its_weights_back():
    def batches():
        yield X[:8], GOOD[:8]
        raise OSError("The input is gone.")

    model = classifier(None)
    before = weights(model)[0]
    for call in (model.evaluate, model.predict):
        with pytest.raises(OSError, match="The input is gone"):
            call(batches(), verbose=0)
        np.testing.assert_array_equal(weights(model)[0], before)
