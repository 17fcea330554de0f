"""`gradient_accumulation_steps` equals one larger batch, to the last example."""

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx


def make(optimizer, steps_per_execution=1):
    def build():
        model = keras.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(1)])
        model.compile(optimizer(), "mse", steps_per_execution=steps_per_execution)
        return model

    return build


def sgd(**kwargs):
    return lambda: keras.optimizers.SGD(0.1, momentum=0.9, **kwargs)


def adamw(**kwargs):
    return lambda: keras.optimizers.AdamW(0.05, weight_decay=0.1, **kwargs)


def assert_same_weights(left, right):
    for ours, theirs in zip(left.get_weights(), right.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("optimizer", "steps_per_execution"), [(sgd, 4), (adamw, 1)])
def test_three_batches_equal_one_three_times_as_large(optimizer, steps_per_execution, mirrored, train, data):
    accumulating = make(optimizer(gradient_accumulation_steps=3), steps_per_execution)
    # 50 rows: windows of 24, 24 and 2 examples; the last batch has 2.
    small, _ = train(mirrored(4), accumulating, *data, batch_size=8, shuffle=False)
    large, _ = train(mirrored(4), make(optimizer()), *data, batch_size=24, shuffle=False)
    assert_same_weights(small, large)


def test_clipping_and_schedules_count_updates(mirrored, train, data):
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0], [0.5, 0.1])

    def optimizer(**kwargs):
        return lambda: keras.optimizers.SGD(schedule, global_clipnorm=0.1, **kwargs)

    x, y = (array[:48] for array in data)
    small, _ = train(
        mirrored(4), make(optimizer(gradient_accumulation_steps=3)), x, y, batch_size=8, shuffle=False
    )
    large, _ = train(mirrored(4), make(optimizer()), x, y, batch_size=24, shuffle=False)
    assert_same_weights(small, large)


def test_the_unfinished_window_of_fourteen_batches_is_a_fifth_update(mirrored, train, data):
    x, y = (np.concatenate([array, array])[:56] for array in data)
    updates = []

    class Counts(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.look()

        def on_train_end(self, logs=None):
            self.look()

        def look(self):
            weights = self.model.get_weights()[0]
            if not updates or (weights != updates[-1]).any():
                updates.append(weights)

    def build():
        model = keras.Sequential([keras.Input((6,)), layers.Dense(1)])
        model.compile(sgd(gradient_accumulation_steps=3)(), "mse")
        return model

    counts = Counts()
    model, _ = train(mirrored(4), build, x, y, batch_size=4, shuffle=False, callbacks=[counts])
    # The weights before the first update, and after each of them.
    assert len(updates) == 1 + 5
    before = model.get_weights()
    model.fit(
        x[:8], y[:8], batch_size=4, shuffle=False, verbose=0
    )  # Two batches: one more unfinished window.
    assert (before[0] != model.get_weights()[0]).any()


@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "mean_with_sample_weight"])
def test_uneven_masks_weigh_as_in_one_batch(reduction, mirrored, train):
    rng = np.random.default_rng(5)
    tokens = rng.integers(1, 9, (40, 6))
    for row, length in zip(tokens, rng.integers(1, 7, 40), strict=True):
        row[length:] = 0
    tokens[:8, 1:] = 0
    targets = rng.normal(size=(40, 6, 1)).astype("float32")

    def build(**kwargs):
        def masked():
            model = keras.Sequential([layers.Embedding(9, 3, mask_zero=True), layers.Dense(1)])
            model.compile(
                keras.optimizers.SGD(0.5, **kwargs), keras.losses.MeanSquaredError(reduction=reduction)
            )
            return model

        return masked

    # Windows of 24 and of 16 rows, the last one unfinished.
    small, _ = train(
        mirrored(4), build(gradient_accumulation_steps=3), tokens, targets, batch_size=8, shuffle=False
    )
    large, _ = train(None, build(), tokens, targets, batch_size=24, shuffle=False)
    assert_same_weights(small, large)


def test_a_loss_that_is_a_sum_is_averaged_over_the_batches(mirrored, train, data):
    def build(rate, **kwargs):
        def model():
            model = keras.Sequential([layers.Dense(1)])
            model.compile(
                keras.optimizers.SGD(rate, **kwargs), keras.losses.MeanSquaredError(reduction="sum")
            )
            return model

        return model

    x, y = (array[:22] for array in data)
    small, _ = train(
        mirrored(4), build(0.03, gradient_accumulation_steps=3), x, y, batch_size=8, shuffle=False
    )
    large, _ = train(None, build(0.01), x, y, batch_size=22, shuffle=False)
    assert_same_weights(small, large)


def test_a_window_whose_examples_weigh_nothing_changes_nothing(mirrored, data):
    x, y = data
    with mirrored(2).scope():
        model = keras.Sequential([layers.Dense(1)])
        loss = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
        model.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=2), loss)
    model.fit(x[:16], y[:16], batch_size=8, verbose=0)
    before = model.get_weights()
    model.fit(x[:24], y[:24], sample_weight=np.zeros(24), batch_size=8, verbose=0)
    np.testing.assert_array_equal(before[0], model.get_weights()[0])


def test_where_variables_are_updated_once_the_window_is_the_same(train, data):
    strategy = sx.distribute.CentralStorageStrategy([f"/cpu:{index}" for index in range(4)])
    small, _ = train(strategy, make(sgd(gradient_accumulation_steps=3)), *data, batch_size=8, shuffle=False)
    large, _ = train(None, make(sgd()), *data, batch_size=24, shuffle=False)
    assert_same_weights(small, large)
