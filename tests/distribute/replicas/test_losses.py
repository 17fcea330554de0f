"""Averages over the global batch: TensorFlow's helpers for custom loops."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import MirroredStrategy, compute_average_loss, scale_regularization_loss

RNG = np.random.default_rng(2)


@pytest.fixture(scope="module")
def four():
    return MirroredStrategy([f"/cpu:{i}" for i in range(4)])


def summed(strategy, fn, *batches):
    (batch,) = strategy.experimental_distribute_dataset([batches])
    return float(strategy.reduce("sum", strategy.run(fn, args=batch), axis=None))


@pytest.mark.parametrize("rows", [8, 4, 3, 1])
def test_the_sum_over_replicas_is_the_mean_over_the_batch(four, rows):
    losses = RNG.random(rows).astype("float32")
    weights = RNG.random(rows).astype("float32")
    per_row = RNG.random((rows, 3)).astype("float32")
    assert summed(four, compute_average_loss, losses) == pytest.approx(losses.mean(), rel=1e-5)
    weighted = summed(four, lambda x, w: compute_average_loss(x, sample_weight=w), losses, weights)
    assert weighted == pytest.approx((losses * weights).mean(), rel=1e-5)
    wide = summed(four, lambda x, w: compute_average_loss(x, w, global_batch_size=10), per_row, weights)
    assert wide == pytest.approx((per_row * weights[:, None]).sum() / 10, rel=1e-5)


@pytest.mark.parametrize("rows", [8, 3])
def test_a_regularization_loss_counts_once(four, rows):
    def fn(x):
        return scale_regularization_loss([jnp.float32(2), jnp.ones(3)]) + 0 * x.sum()

    assert summed(four, fn, np.ones(rows, "float32")) == pytest.approx(5)
    single = summed(four, lambda x: scale_regularization_loss(jnp.ones(2)), np.ones(rows, "float32"))
    assert single == pytest.approx(2)


def test_outside_of_every_strategy_they_are_plain_means():
    assert float(compute_average_loss(np.array([1, 2, 3]))) == 2
    assert float(compute_average_loss(jnp.array([1.0, 3.0]), global_batch_size=jnp.array(4))) == 1
    assert float(scale_regularization_loss(3.0)) == 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: compute_average_loss(1.0), errors.BadArgumentError, "per_example_loss=1.0, a scalar"),
        (
            lambda: compute_average_loss(np.ones(2), global_batch_size=0),
            errors.BadArgumentError,
            "global_batch_size=0",
        ),
        (
            lambda: compute_average_loss(np.ones(2), global_batch_size=np.int64(-3)),
            errors.BadArgumentError,
            "must be positive",
        ),
    ],
)
def test_losses_that_can_not_be_averaged_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_in_the_cross_replica_context_nobody_knows_how_many_replicas_share_a_loss(four):
    with four.scope():
        assert float(compute_average_loss(np.ones(4), global_batch_size=8)) == 0.5
        with pytest.raises(errors.StrategyError, match="without global_batch_size has to know the replica"):
            compute_average_loss(np.ones(4))
        with pytest.raises(errors.StrategyError, match="scale_regularization_loss divides by"):
            scale_regularization_loss(1.0)


def test_the_gradient_of_the_average_is_one_devices(four):
    x = RNG.normal(size=(8, 3)).astype("float32")
    w = sx.Variable(np.ones(3, "float32"))

    def gradient(x):
        loss = lambda: compute_average_loss((x @ w.value) ** 2) + scale_regularization_loss(w.value**2)  # noqa: E731
        return sx.value_and_grad(loss, w)()[1]

    for rows in (8, 5):
        (batch,) = four.experimental_distribute_dataset([x[:rows]])
        got = four.reduce("sum", four.run(gradient, args=(batch,)), axis=None)
        expected = 2 * x[:rows].T @ (x[:rows] @ np.ones(3)) / rows + 2
        np.testing.assert_allclose(got, expected, rtol=1e-5)
