"""Generators and PyDatasets of sparse matrices train a model under a strategy as they do without one."""

import keras
import numpy as np
import pytest
from jax.experimental import sparse

import stratax as sx

scipy_sparse = pytest.importorskip("scipy.sparse")

X = np.random.default_rng(0).normal(size=(3, 8, 4)).astype(np.float32) * (np.arange(4) % 2)
Y = np.ones((8, 1), np.float32)


class Batches(keras.utils.PyDataset):
    def __init__(self, convert):
        super().__init__()
        self.convert = convert

    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return self.convert(X[index]), Y


def model():
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
    made.compile(loss="mse", optimizer=keras.optimizers.SGD(0.1))
    return made


def trained(x):
    with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        made = model()
    made.fit(x, shuffle=False, verbose=0)
    return made.get_weights()


@pytest.fixture(scope="module")
def expected():
    made = model()
    made.fit(((x, Y) for x in X), verbose=0)
    return made.get_weights()


# Each has another way to its rows.
CONVERSIONS = {
    "csr": scipy_sparse.csr_matrix,
    "coo": scipy_sparse.coo_matrix,
    "csc_array": scipy_sparse.csc_array,
    "bcoo": sparse.BCOO.fromdense,
}


@pytest.mark.parametrize("kind", CONVERSIONS)
def test_generators(kind, expected):
    weights = trained((CONVERSIONS[kind](x), Y) for x in X)
    for found, wanted in zip(weights, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_datasets_of_keras(expected):
    weights = trained(Batches(scipy_sparse.csr_matrix))
    np.testing.assert_allclose(weights[0], expected[0], rtol=1e-5)
