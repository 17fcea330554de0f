"""A convex problem comes to its optimum with three workers, with a bound on staleness and without one."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.errors import BadArgumentError, BadTypeError
from tests.distribute.parameter_servers import running
from tests.parameter_servers.coordination.clusters import in_process


def problem():
    random = np.random.default_rng(0)
    x = random.normal(size=(240, 5)).astype("float32")
    y = (x @ random.normal(size=(5, 1)) + 0.1 * random.normal(size=(240, 1))).astype("float32")
    best, *_ = np.linalg.lstsq(x.astype("float64"), y.astype("float64"), rcond=None)
    return x, y, best


def trained(bound, steps):
    """The weights that full-batch gradients of three workers lead to, and how stale these were."""
    x, y, _ = problem()
    with in_process(servers=2, workers=3, max_staleness=bound) as coordinator:
        strategy = coordinator.strategy
        with strategy.scope():
            weights = sx.Variable(np.zeros((5, 1), "float32"), name="weights")
            optimizer = keras.optimizers.SGD(0.05)

        @sx.function
        def step():
            def replica():
                loss = lambda: jnp.mean((x @ weights.value - y) ** 2)  # noqa: E731
                _, grads = sx.value_and_grad(loss, [weights])()
                optimizer.apply_gradients(zip(grads, [weights], strict=True))

            return strategy.run(replica)

        for _ in range(steps):
            coordinator.schedule(step)
        coordinator.join()
        assert int(optimizer.iterations.numpy()) == steps
        return weights.numpy(), strategy.staleness()


@pytest.mark.parametrize("bound", [None, 0, 1])
def test_three_workers_reach_the_optimum(bound):
    found, staleness = trained(bound, 300)
    np.testing.assert_allclose(found, problem()[2], atol=1e-5)
    assert sum(staleness.values()) == 300
    if bound is not None:
        assert max(staleness) <= bound


def test_a_bound_of_zero_gives_one_devices_weights():
    found, staleness = trained(0, 8)
    x, y, _ = problem()
    weights = np.zeros((5, 1))
    for _ in range(8):
        weights -= 0.05 * 2 * x.T @ (x @ weights - y) / len(x)
    np.testing.assert_allclose(found, weights, rtol=1e-4)
    assert staleness == {0: 8}


@pytest.mark.parametrize(
    ("bound", "error"), [(-1, BadArgumentError), (1.5, BadTypeError), (True, BadTypeError)]
)
def test_a_bound_is_a_number_of_steps(bound, error):
    with running(1) as (_, resolver), pytest.raises(error, match="max_staleness"):
        sx.distribute.ParameterServerStrategy(resolver, max_staleness=bound)
