"""Batches of SparseTensors in `fit`, `evaluate` and `predict`."""

import keras
import numpy as np
import pytest

import stratax as sx

X = np.where(np.random.default_rng(0).random((21, 4)) < 0.5, 0, np.arange(84.0).reshape(21, 4) / 84).astype(
    "float32"
)
Y = X.sum(axis=1, keepdims=True)


def sparse_rows(x, y):
    places = np.argwhere(x)
    return sx.data.SparseTensor(places, x[tuple(places.T)], np.array(x.shape)), y


def datasets():
    dense = sx.data.Dataset.from_tensor_slices((X, Y))
    yield dense.batch(8)
    # Of rows, and of batches that a function makes.
    yield sx.data.Dataset.from_tensor_slices(sparse_rows(X, Y)).batch(8)
    yield dense.batch(8).map(sparse_rows)


def trained(dataset, replicas, **kwargs):
    keras.utils.set_random_seed(1)

    def make():
        model = keras.Sequential([keras.Input([4], sparse=True), keras.layers.Dense(1)])
        model.compile("sgd", "mse", steps_per_execution=2)
        return model

    if not replicas:
        model = make()
    else:
        with sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)]).scope():
            model = make()
    history = model.fit(dataset, epochs=2, shuffle=False, verbose=0, validation_data=dataset, **kwargs)
    features = dataset.map(lambda x, y: x)
    return [
        *history.history["loss"],
        *history.history["val_loss"],
        model.evaluate(dataset, verbose=0),
        *model.predict(features, verbose=0).ravel(),
    ]


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_sparse_batches_are_what_dense_ones_are(replicas):
    expected, *found = [trained(dataset, replicas) for dataset in datasets()]
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=1e-5)


def test_weights_of_classes_go_with_sparse_batches():
    def labelled(dataset):
        return dataset.map(lambda x, y: (x, np.asarray(y[:, 0] > 0.5, "int32")))

    expected, found, _ = [
        trained(labelled(dataset), 2, class_weight={0: 1.0, 1: 3.0}) for dataset in datasets()
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
