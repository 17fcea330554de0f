"""Pipelines of other libraries are distributed, and trained on, as they are."""

import grain
import keras
import numpy as np
import pytest

import stratax as sx

X = np.arange(30, dtype="float32").reshape(10, 3) / 30
Y = X.sum(axis=1, keepdims=True)


def pipelines():
    pairs = grain.MapDataset.source(list(zip(X, Y, strict=True)))
    sampler = grain.samplers.IndexSampler(10, num_epochs=1)
    return {
        "map": pairs.batch(4),
        "iter": pairs.to_iter_dataset().batch(4),
        "loader": grain.DataLoader(
            data_source=list(zip(X, Y, strict=True)), sampler=sampler, operations=[grain.transforms.Batch(4)]
        ),
    }


@pytest.mark.parametrize("kind", ["map", "iter", "loader"])
def test_a_strategy_divides_the_batches(kind):
    strategy = sx.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    dataset = strategy.experimental_distribute_dataset(pipelines()[kind])
    assert dataset.element_spec[0].dtype == np.float32
    sums = [
        float(strategy.reduce("SUM", strategy.run(lambda x, y: x.sum(), args=batch), axis=None))
        for batch in dataset
    ]
    assert sums == pytest.approx([X[:4].sum(), X[4:8].sum(), X[8:].sum()], rel=1e-5)


def losses_of(batches):
    keras.utils.set_random_seed(0)
    with sx.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    return model.fit(batches, epochs=2, verbose=0).history["loss"]


def test_fit_takes_them():
    expected = losses_of(sx.data.Dataset.from_tensor_slices((X, Y)).batch(4))
    assert losses_of(pipelines()["map"]) == pytest.approx(expected, rel=1e-5)
    assert losses_of(pipelines()["iter"]) == pytest.approx(expected, rel=1e-5)
