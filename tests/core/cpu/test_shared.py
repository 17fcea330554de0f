"""What many operations use is computed once, and is what it was."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core import cpu, jaxprs

pytestmark = [pytest.mark.exact, pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")]


@pytest.fixture
def held(monkeypatch):
    """How many arrays are held in each program that is compiled."""
    given, found = cpu.hold_shared, []

    def hold(closed):
        made = given(closed)
        found.append(sum(e.primitive.name == "stratax_held" for e in jaxprs.walk_nested(made.jaxpr)))
        return made

    monkeypatch.setattr(cpu, "hold_shared", hold)
    return found


def _wide(columns, examples=8):
    """A linear model of many columns: its gradients, one for each weight."""
    random = np.random.default_rng(0)
    weights = [keras.Variable(random.standard_normal((1, 1)).astype(np.float32)) for _ in range(columns)]
    x = [random.standard_normal((examples, 1)).astype(np.float32) for _ in range(columns)]

    def step():
        with sx.GradientTape() as tape:
            logits = sum(weight * each for each, weight in zip(x, weights, strict=True))
            loss = keras.ops.mean(keras.ops.square(logits - 1))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * gradient)
        return loss

    return step, weights


def test_the_derivative_by_what_many_columns_add_up_to_is_held(held):
    step, weights = _wide(40)
    losses = [float(sx.function(step)()) for _ in range(2)]
    assert held[0] >= 1
    plain, others = _wide(40)
    np.testing.assert_allclose(losses, [float(plain()) for _ in range(2)], rtol=1e-5)
    for ours, theirs in zip(weights, others, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("columns", "examples"), [(3, 8), (40, cpu.MAX_HELD + 1)])
def test_what_few_use_or_is_large_is_left_alone(columns, examples, held):
    step, _ = _wide(columns, examples)
    sx.function(step)()
    assert held == [0]


def test_replicas_hold_what_they_share(held):
    step, _ = _wide(40)
    strategy = sx.distribute.MirroredStrategy()
    with strategy.scope():
        step, _ = _wide(40)
    sx.function(lambda: strategy.run(step))()
    assert held[0] >= 1
