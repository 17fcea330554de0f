"""Gradients of what a `model_fn` computes, and of gradients."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


def test_gradients_of_features_and_none_where_unconnected():
    def body(scope, x):
        v = v1.get_variable("v", ())
        assert scope.derivatives.gradients(jnp.sum(x * 3), [v]) == [None]
        return scope.derivatives.gradients(jnp.sum(x**2), x)[0]

    assert Step(body)(np.float32([1, 2])).tolist() == [2, 4]


def penalty(scope, x):
    v = v1.get_variable("v", (), initializer=keras.initializers.Constant(0.5))
    (slope,) = scope.derivatives.gradients(jnp.sum(jnp.tanh(x * v.value)), [x])
    norm = jnp.sqrt(jnp.sum(slope**2))
    return scope.derivatives.gradients((norm - 1) ** 2 + v.value, [v])[0]


def test_gradients_of_gradients_are_followed_from_the_next_trace_on():
    x = np.float32([1, 2])

    def loss(v):
        slope = jax.grad(lambda x: jnp.sum(jnp.tanh(x * v)))(x)
        return (jnp.sqrt(jnp.sum(slope**2)) - 1) ** 2 + v

    state = v1.ModelState(1)
    with pytest.raises(v1.DerivativesError, match="computed of gradients"):
        Step(penalty, state=state)(x)
    found = Step(penalty, state=state)(x)
    np.testing.assert_allclose(found, jax.grad(loss)(0.5), rtol=1e-5)


def test_third_derivatives_take_two_more_traces():
    def third(scope, x):
        first = scope.derivatives.gradients(x**4, [x])[0]
        second = scope.derivatives.gradients(first * 2, [x])[0]
        # First and second derivatives together.
        return scope.derivatives.gradients(second * first, [x])[0], scope.derivatives.gradients(first, [x])[0]

    state = v1.ModelState(1)
    for _ in range(2):
        with pytest.raises(v1.DerivativesError):
            Step(third, state=state)(np.float32(2))
    found = Step(third, state=state)(np.float32(2))
    # 4x^3 * 24x^2 = 96x^5, whose derivative is 480x^4; 12x^2.
    assert [float(each) for each in found] == [480 * 16, 48]


def test_two_losses_have_gradients_of_their_own():
    def two(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Ones())
        # The derivative is x itself, which the second loss needs too.
        (first,) = scope.derivatives.gradients(v.value * x, [v])
        (second,) = scope.derivatives.gradients(v.value * x * 3, [v])
        return first, second

    assert [float(g) for g in Step(two)(np.float32(2))] == [2, 6]
