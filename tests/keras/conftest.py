"""What the tests of `stratax.keras` share: strategies of every size, small data, and both ways to train on it."""

import functools
from collections.abc import Callable

import keras
import numpy as np
import pytest

import stratax as sx

EXAMPLES = 50
"""Not a multiple of any batch size in these tests: the last batch is smaller and does not divide."""


@functools.cache
def mirrored(replicas: int) -> sx.distribute.Strategy:
    """One strategy of each size: programs and variables refer to it, so tests need no new ones."""
    return sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])


@pytest.fixture(name="mirrored")
def _mirrored() -> Callable[[int], sx.distribute.Strategy]:
    return mirrored


@pytest.fixture(scope="session")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Features `(50, 6)` and binary targets `(50, 1)`, float32."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(EXAMPLES, 6)).astype("float32")
    return x, (x[:, :1] + 0.3 * x[:, 1:2] > 0).astype("float32")


@pytest.fixture
def train() -> Callable[..., tuple[keras.Model, keras.callbacks.History]]:
    """Builds, compiles and fits a model under a strategy, or, with `None`, with Keras alone."""

    def train(
        strategy: sx.distribute.Strategy | None,
        make: Callable[[], keras.Model],
        *args: object,
        **kwargs: object,
    ) -> tuple[keras.Model, keras.callbacks.History]:
        keras.utils.set_random_seed(0)
        if strategy is None:
            model = make()
        else:
            with strategy.scope():
                model = make()
        kwargs.setdefault("verbose", 0)
        return model, model.fit(*args, **kwargs)

    return train


@pytest.fixture
def assert_same_training() -> Callable[..., None]:
    """Compares two runs: the epochs, what was logged in them, and the weights."""

    def check(left: tuple, right: tuple, tolerance: float = 2e-5) -> None:
        (left_model, left_history), (right_model, right_history) = left, right
        assert left_history.epoch == right_history.epoch
        assert list(left_history.history) == list(right_history.history)
        for name, values in right_history.history.items():
            np.testing.assert_allclose(
                left_history.history[name], values, rtol=tolerance, atol=tolerance, err_msg=name
            )
        for ours, theirs in zip(left_model.get_weights(), right_model.get_weights(), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)

    return check
