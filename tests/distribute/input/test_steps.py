"""Input none of whose batches divides among the replicas costs as many times the work, which is said once."""

import warnings

import keras
import numpy as np
import pytest

import stratax as sx

REPLICAS = 8


def passes(strategy, size, batch_size, times=1):
    """Go through a distributed dataset, and return what was warned."""
    dataset = sx.Dataset.from_tensor_slices(np.ones((size, 2), "float32")).batch(batch_size)
    distributed = strategy.experimental_distribute_dataset(dataset)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(times):
            for _ in distributed:
                pass
    return [str(each.message) for each in caught if "divides among" in str(each.message)]


@pytest.fixture
def strategy():
    return sx.distribute.MirroredStrategy()


@pytest.mark.parametrize(
    ("size", "batch_size", "near"), [(36, 12, "Take 8 or 16"), (25, 12, "Take 8 or 16"), (9, 3, "Take 8")]
)
def test_what_never_divides_is_told_once_with_the_factor_and_what_to_take(strategy, size, batch_size, near):
    (message,) = passes(strategy, size, batch_size, times=3)
    assert f"No batch divides among the {REPLICAS} replicas" in message
    assert f"{REPLICAS} times the work" in message
    assert f"batches of {batch_size}. {near}." in message


@pytest.mark.parametrize(("size", "batch_size"), [(36, 16), (32, 16), (3, 16), (17, 16)])
def test_a_last_batch_that_does_not_divide_is_not_told(strategy, size, batch_size):
    assert passes(strategy, size, batch_size) == []


def test_fit_tells_it(strategy):
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    with pytest.warns(RuntimeWarning, match="8 times the work.*Received: batches of 10. Take 8 or 16"):
        model.fit(np.ones((30, 2)), np.ones((30, 1)), batch_size=10, verbose=0)
