"""Batches that do not divide: every number of rows on 2 to 4 replicas, against the same training in NumPy."""

import keras
import numpy as np
import pytest
from keras import layers

from tests import stressed

RATE, BATCH = 0.1, 12
START = np.array([[0.5], [-0.25]], "float32")


def trained_in_numpy(x, y, weights):
    """Gradient descent on a weighted squared error, batch by batch: the weights, and the mean loss of the epoch."""
    kernel, losses = START.astype("float64"), []
    for begin in range(0, len(x), BATCH):
        rows = slice(begin, begin + BATCH)
        error = x[rows] @ kernel - y[rows]
        size = len(error)
        losses.append((np.mean(weights[rows, None] * error**2), size))
        kernel = kernel - RATE * 2 * x[rows].T @ (weights[rows, None] * error) / size
    return kernel, sum(loss * size for loss, size in losses) / len(x)


@pytest.mark.parametrize("replicas", stressed.but(lambda replicas: replicas == 3, [2, 3, 4]))
def test_every_number_of_rows_trains_as_one_device(replicas, mirrored):
    with mirrored(replicas).scope():
        model = keras.Sequential([keras.Input((2,)), layers.Dense(1, use_bias=False)])
        model.compile(keras.optimizers.SGD(RATE), "mse", weighted_metrics=["mae"])
    rng = np.random.default_rng(1)
    # Each size of the last batch, by itself and behind a whole one.
    most = 2 * BATCH + 1
    x, y = rng.normal(size=(most, 2)).astype("float32"), rng.normal(size=(most, 1)).astype("float32")
    weights = rng.uniform(size=most).astype("float32")
    for rows in range(1, most + 1):
        model.set_weights([START])
        data = x[:rows], y[:rows], weights[:rows]
        history = model.fit(
            data[0], data[1], sample_weight=data[2], batch_size=BATCH, shuffle=False, verbose=0
        ).history
        kernel, loss = trained_in_numpy(*data)
        np.testing.assert_allclose(
            model.get_weights()[0], kernel, rtol=1e-4, atol=1e-5, err_msg=f"{rows} rows"
        )
        np.testing.assert_allclose(history["loss"], [loss], rtol=1e-4, err_msg=f"{rows} rows")
        expected = np.average(np.abs(data[0] @ kernel - data[1])[:, 0], weights=data[2])
        measured = model.evaluate(data[0], data[1], sample_weight=data[2], batch_size=BATCH, verbose=0)[1]
        np.testing.assert_allclose(measured, expected, rtol=1e-4, err_msg=f"{rows} rows")


def test_all_replicas_hold_the_same_values(mirrored, train, data):
    def make():
        model = keras.Sequential(
            [layers.Dense(8), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(1)]
        )
        model.compile("adam", "mse", metrics=["mae"])
        return model

    model, _ = train(mirrored(4), make, *data, batch_size=16)
    for variable in [*model.variables, *model.optimizer.variables]:
        shards = [np.asarray(shard.data) for shard in variable.value.addressable_shards]
        assert len(shards) == 4, variable.path
        assert len({shard.tobytes() for shard in shards}) == 1, variable.path
