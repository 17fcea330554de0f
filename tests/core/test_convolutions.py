"""Convolutions in loops and branches are brought into the form that is fast there, and compute the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as jax_core

import stratax as sx
from stratax.core import _convolutions

pytestmark = [pytest.mark.exact, pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")]


def _convolutions_in(jaxpr):
    for equation in jaxpr.eqns:
        if equation.primitive is jax.lax.conv_general_dilated_p:
            yield equation.params["dimension_numbers"]
        for inner in jax_core.jaxprs_in_params(equation.params):
            yield from _convolutions_in(inner)


def _values(*shapes):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def _conv(x, w, dims, **options):
    options = {"window_strides": (2,) * (x.ndim - 2), "padding": "SAME"} | options
    return jax.lax.conv_general_dilated(x, w, dimension_numbers=dims, **options)


NHWC = ("NHWC", "HWIO", "NHWC")
CASES = {
    "channels last": (((2, 8, 8, 3), (3, 3, 3, 4)), NHWC, {}),
    "channels first": (((2, 3, 8, 8), (4, 3, 3, 3)), ("NCHW", "OIHW", "NCHW"), {}),
    "mixed": (((2, 3, 8, 8), (3, 3, 3, 4)), ("NCHW", "HWIO", "NHWC"), {}),
    "one dimension": (((2, 9, 3), (3, 3, 4)), ("NHC", "HIO", "NHC"), {}),
    "three dimensions": (((2, 5, 6, 4, 3), (2, 3, 2, 3, 4)), ("NHWDC", "HWDIO", "NHWDC"), {}),
    "groups": (((2, 8, 8, 4), (3, 3, 2, 6)), NHWC, {"feature_group_count": 2}),
    "depthwise": (((2, 8, 8, 4), (3, 3, 1, 4)), NHWC, {"feature_group_count": 4}),
    "dilated": (((2, 8, 8, 3), (3, 3, 3, 4)), NHWC, {"window_strides": (1, 1), "rhs_dilation": (2, 2)}),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_stay_the_same(name):
    shapes, dims, options = CASES[name]
    x, w = _values(*shapes)
    both = jax.value_and_grad(lambda x, w: jnp.sum(jnp.sin(_conv(x, w, dims, **options))), argnums=(0, 1))
    closed = jax.make_jaxpr(both)(x, w)
    prepared = _convolutions.prepare(closed)
    assert prepared is not closed
    found = list(_convolutions_in(prepared.jaxpr))
    assert len(found) == 3
    assert set(found) == {_convolutions._form(x.ndim)}
    for ours, expected in zip(
        jax_core.jaxpr_as_fun(prepared)(x, w), jax_core.jaxpr_as_fun(closed)(x, w), strict=True
    ):
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=2e-5)


def test_what_is_in_the_form_already_is_left_alone():
    x, w = _values((2, 8, 8, 3), (3, 3, 3, 4))
    closed = jax.make_jaxpr(lambda x, w: _conv(x, w, NHWC))(x, w)
    assert _convolutions.prepare(closed) is closed


def test_convolutions_of_inner_functions_loops_and_branches_are_found():
    x, w = _values((2, 3, 8, 8), (3, 3, 3, 3))

    def step(x, w):
        return _conv(x, w, ("NCHW", "OIHW", "NCHW"), window_strides=(1, 1))

    def nested(x, w):
        x, _ = jax.lax.scan(lambda carry, _: (step(carry, w), None), x, length=2)
        x = jax.lax.cond(x.sum() > 0, lambda x: step(x, w), lambda x: x, x)
        return jax.jit(step)(x, w)

    closed = jax.make_jaxpr(nested)(x, w)
    prepared = _convolutions.prepare(closed)
    assert set(_convolutions_in(prepared.jaxpr)) == {_convolutions._form(4)}
    np.testing.assert_allclose(
        jax_core.jaxpr_as_fun(prepared)(x, w)[0], jax_core.jaxpr_as_fun(closed)(x, w)[0], rtol=1e-4, atol=1e-4
    )


def test_a_compiled_loop_around_replicas_has_them_in_the_form():
    strategy = sx.distribute.MirroredStrategy()
    x, w = _values((len(strategy.devices), 3, 8, 8), (4, 3, 3, 3))
    with strategy.scope():
        kernel = sx.Variable(w)
    (batch,) = strategy.experimental_distribute_dataset([x])

    def replica_step(x):
        def loss_fn():
            return jnp.sum(_conv(x, kernel.value, ("NCHW", "OIHW", "NCHW")) ** 2)

        loss, (gradient,) = sx.value_and_grad(loss_fn, [kernel])()
        return loss, gradient

    @sx.function
    def steps(batch, looped):
        result = strategy.run(replica_step, args=(batch,))
        if looped:
            for _ in sx.range(3):
                result = strategy.run(replica_step, args=(batch,))
        return strategy.reduce("SUM", result, axis=None)

    looped = steps(batch, True)
    (loop,) = [e for e in steps.jaxpr(batch, True).jaxpr.eqns if e.primitive.name == "scan"]
    found = list(_convolutions_in(loop.params["jaxpr"].jaxpr))
    assert len(found) >= 2
    assert set(found) == {_convolutions._form(4)}
    for ours, expected in zip(looped, steps(batch, False), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4)
