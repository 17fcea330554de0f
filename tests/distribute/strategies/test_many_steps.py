"""Many steps in one dispatch: loops around `run` and inside of it give what single steps give."""

import keras
import numpy as np
import pytest

import stratax as sx
from stratax.distribute import CentralStorageStrategy, MirroredStrategy, OneDeviceStrategy

X = np.random.default_rng(3).normal(size=(44, 3)).astype("float32")


def make(strategy):
    with strategy.scope():
        w = sx.Variable(np.ones(3, "float32"))
        optimizer = keras.optimizers.Adam(0.1)
        optimizer.build([w])
        metric = keras.metrics.Mean()

    def replica_step(x):
        loss = lambda: sx.distribute.compute_average_loss((x @ w.value - 1) ** 2)  # noqa: E731
        value, gradients = sx.value_and_grad(loss, [w])()
        optimizer.apply_gradients(zip(gradients, [w], strict=True))
        metric.update_state((x @ w.value - 1) ** 2)
        return value

    return w, metric, replica_step


def single_steps(strategy, epochs=1):
    w, metric, replica_step = make(strategy)
    step = sx.function(lambda x: strategy.run(replica_step, args=(x,)))
    for _ in range(epochs):
        for batch in strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(X).batch(8)):
            step(batch)
    return w.numpy(), float(metric.result())


@pytest.fixture(scope="module")
def expected():
    return single_steps(OneDeviceStrategy("/cpu:0"))


@pytest.mark.parametrize(
    "kind",
    [
        lambda: OneDeviceStrategy("/cpu:0"),
        lambda: MirroredStrategy(["/cpu:0", "/cpu:1"]),
        lambda: MirroredStrategy([f"/cpu:{i}" for i in range(8)]),
        lambda: CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:7"),
    ],
    ids=["one", "mirrored2", "mirrored8", "central2"],
)
def test_a_loop_of_steps_over_an_iterator_is_single_steps(kind, expected):
    """Five full batches and a remainder of 4, which does not divide among 8, in calls of 3 steps."""
    strategy = kind()
    w, metric, replica_step = make(strategy)

    @sx.function
    def steps(iterator, n):
        for _ in sx.range(n):
            strategy.run(replica_step, args=(next(iterator),))

    dataset = sx.Dataset.from_tensor_slices(X).batch(8)
    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    for _ in range(2):
        steps(iterator, 3)
    with pytest.raises(StopIteration):
        steps(iterator, 3)
    np.testing.assert_allclose(w.numpy(), expected[0], atol=2e-6)
    assert float(metric.result()) == pytest.approx(expected[1], rel=1e-5)


def test_a_loop_inside_a_replica_is_as_many_steps():
    strategy = MirroredStrategy(["/cpu:0", "/cpu:1"])
    results = []
    for inside in (True, False):
        w, metric, replica_step = make(strategy)

        def many(x, replica_step=replica_step):
            for _ in sx.range(3):
                replica_step(x)

        step = sx.function(lambda x, f=many if inside else replica_step: strategy.run(f, args=(x,)))
        (batch,) = strategy.experimental_distribute_dataset([X[:8]])
        for _ in range(1 if inside else 3):
            step(batch)
        results.append((w.numpy(), float(metric.result()), float(metric.count.value)))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-6)
    assert results[0][1:] == pytest.approx(results[1][1:], rel=1e-6)
    assert results[0][2] == 24
