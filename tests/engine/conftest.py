"""What the tests of `stratax.engine` share: a train step that knows nothing of Keras' models, and its numbers."""

import functools

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import engine

ROWS, BATCH, RATE = 42, 8, 0.1
"""Five batches of 8 and one of 2, which divides among one or two replicas only."""
RNG = np.random.default_rng(5)
X = RNG.normal(size=(ROWS, 3)).astype("float32")
Y = (X @ np.float32([1.0, -2.0, 0.5]))[:, None] + 0.1


def expected_weights(steps):
    """The weights after so many steps of gradient descent over the rows in their order, again and again, in NumPy."""
    weights = np.zeros((3, 1))
    starts = list(range(0, ROWS, BATCH))
    for number in range(steps):
        rows = slice(starts[number % len(starts)], starts[number % len(starts)] + BATCH)
        error = X[rows] @ weights - Y[rows]
        weights -= RATE * 2 * X[rows].T @ error / len(error)
    return weights


class Training:
    """A linear regression by a step that is written for one device, and the input for it.

    Attributes:
        weights: The variable that is trained.
        program: Its steps; a dispatch returns the losses of all of them.
    """

    def __init__(self, strategy, dataset=None):
        self.strategy = strategy
        with strategy.scope():
            self.weights = sx.Variable(np.zeros((3, 1), "float32"))
            self.optimizer = keras.optimizers.SGD(RATE)
            self.optimizer.build([self.weights])
        dataset = sx.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH) if dataset is None else dataset
        self.input = engine.StepInput.of_dataset(strategy, dataset)
        self.program = engine.StepProgram.of_each_step(strategy, self.step)

    def step(self, data):
        x, y = data
        loss_fn = lambda: keras.ops.mean((x @ self.weights.value - y) ** 2)  # noqa: E731
        loss, gradients = sx.value_and_grad(loss_fn, [self.weights])()
        self.optimizer.apply(gradients, [self.weights])
        return loss

    def loop(self, **options):
        return engine.StepLoop(self.strategy, self.program, **options)

    def check(self, steps):
        np.testing.assert_allclose(self.weights.numpy(), expected_weights(steps), rtol=1e-5, atol=1e-6)


@functools.cache
def mirrored(replicas):
    return sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])


@pytest.fixture
def training():
    """A training on two replicas, whose input is closed after the test."""
    made = Training(mirrored(2))
    with made.input:
        yield made
