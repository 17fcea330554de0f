"""Only what is proved to work element by element is computed in parts, and parts are those of the whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax.parameter_servers.remote import _elementwise

SHAPE = (6, 2)


def closed_of(function, *arguments):
    return _elementwise.write_out(jax.make_jaxpr(function)(*arguments))


def adam(value, momentum, rate, gradient):
    momentum = momentum + (gradient - momentum) * 0.1
    step = jnp.where(rate > 0, rate, 0.5) / (1 - jnp.power(0.9, rate + 1))
    return value - step * momentum / (jnp.sqrt(jnp.square(gradient)) + 1e-7), momentum


@jax.jit
def called(value, momentum, rate, gradient):
    return adam(value, momentum, rate, jnp.clip(gradient, -1.0, 1.0))


@pytest.mark.parametrize("function", [adam, called])
def test_parts_of_an_optimizers_step_are_those_of_the_whole(function):
    random = np.random.default_rng(0)
    value, momentum, gradient = (random.normal(size=SHAPE).astype("float32") for _ in range(3))
    arguments = [value, momentum, np.float32(0.3), gradient]
    closed = closed_of(function, *arguments)
    whole = function(*arguments)
    for output in range(2):
        assert _elementwise.mixes_elements(closed, output, SHAPE) is None
        for rows in (slice(0, 2), slice(2, 6)):
            parts = [each if np.ndim(each) == 0 else each[rows] for each in arguments]
            part = _elementwise.part_of(closed, output, parts, parts[0].shape)
            np.testing.assert_allclose(part, whole[output][rows], rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda v, g: v - g / jnp.sqrt(jnp.sum(v**2)), "reduce_sum"),
        (lambda v, g: v - jnp.cumsum(g, 0), "cumsum"),
        (lambda v, g: v - g[::-1], "rev"),
        (lambda v, g: v - jnp.mean(g, 1, keepdims=True), "reduce_sum"),
        (lambda v, g: v - jnp.arange(12.0).reshape(SHAPE) * g, "iota"),
        (lambda v, g: v - np.arange(12, dtype="float32").reshape(SHAPE) * g, "an array that is a constant"),
        (lambda v, g: v @ (v.T @ g), "transpose"),
    ],
)
def test_what_mixes_elements_is_told_by_name(function, reason):
    ones = np.ones(SHAPE, "float32")
    assert _elementwise.mixes_elements(closed_of(function, ones, ones), 0, SHAPE) == reason


def test_a_norm_of_gradients_is_computed_before_and_the_rest_is_elementwise():
    def clipped(value, gradient, other):
        norm = jnp.sqrt(jnp.sum(gradient**2) + jnp.sum(other**2))
        return value - gradient * jnp.minimum(1.0, 1.0 / norm)

    random = np.random.default_rng(0)
    value, gradient = (random.normal(size=SHAPE).astype("float32") for _ in range(2))
    other = np.ones(3, "float32")
    closed = closed_of(clipped, value, gradient, other)
    prepare, rest = _elementwise.without_reductions(closed, 1)
    sent = prepare(gradient, other)
    # The gradient itself, and what its norm makes of it; the other variable's is not sent.
    assert sorted((tuple(np.shape(each)) for each in sent), key=len) == [(), SHAPE]
    assert _elementwise.mixes_elements(rest, 0, SHAPE) is None
    np.testing.assert_allclose(
        _elementwise.result_of(rest, 0, [value, *sent]), clipped(value, gradient, other), rtol=1e-6
    )


def test_a_norm_of_the_variable_stays_where_the_variable_is():
    closed = closed_of(lambda v, g: v - g * jnp.sum(v), np.ones(SHAPE, "float32"), np.ones(SHAPE, "float32"))
    _, rest = _elementwise.without_reductions(closed, 1)
    assert _elementwise.mixes_elements(rest, 0, SHAPE) == "reduce_sum"


def test_of_a_condition_all_branches_are_computed():
    def step(value, gradient):
        return jax.lax.cond(jnp.all(jnp.isfinite(gradient)), lambda: value - gradient, lambda: value)

    ones = np.ones(SHAPE, "float32")
    closed = closed_of(step, ones, ones)
    prepare, rest = _elementwise.without_reductions(closed, 1)
    assert _elementwise.mixes_elements(rest, 0, SHAPE) is None
    for gradient in (ones, ones * np.inf):
        given = [ones, *prepare(gradient)]
        np.testing.assert_array_equal(_elementwise.result_of(rest, 0, given), step(ones, gradient))


def test_a_result_that_is_a_number_fills_its_part():
    closed = closed_of(lambda v: jnp.zeros(SHAPE), np.ones(SHAPE, "float32"))
    assert _elementwise.part_of(closed, 0, [None], (2, 2)).tolist() == [[0.0, 0.0]] * 2


def adagrad(table, squares, gradient, rate):
    squares = squares + gradient**2
    return table - rate * gradient / jnp.sqrt(squares + 1e-7), squares


def skipped(table, squares, gradient, rate):
    """As a loss scale's: nothing is changed where a gradient is not finite."""
    changed, _ = adagrad(table, squares, gradient, rate)
    return jnp.where(rate > 0, changed, table), jnp.where(rate > 0, squares + gradient, squares)


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (lambda t, s, g, r: (t - r * g, s + g * 0), [True, True]),
        (adagrad, [True, True]),
        (skipped, [True, True]),
        (lambda t, s, g, r: (t - r * (0.9 * s + g), 0.9 * s + g), [False, False]),
        (lambda t, s, g, r: (t - r * (g + 0.1 * t), jnp.maximum(s, jnp.abs(g))), [False, False]),
        (lambda t, s, g, r: (t - r * jnp.sign(s) * g, s), [True, True]),
        (lambda t, s, g, r: (t - r * jnp.exp(g), s), [False, True]),
        (lambda t, s, g, r: (t - r * jnp.clip(g, -0.1, 0.1), s - jnp.clip(g, 0.1, 0.2)), [True, False]),
        (lambda t, s, g, r: (t - jnp.clip(g, -0.1, r), s - jnp.clip(g, -0.2, -0.1)), [False, False]),
        (lambda t, s, g, r: (g - t, s / g), [False, False]),
        (lambda t, s, g, r: (s - g, t + g), [False, False]),
    ],
)
def test_whether_a_gradient_of_zero_changes_nothing_is_proved(update, expected):
    shape = jax.ShapeDtypeStruct((3, 2), "float32")
    closed = _elementwise.write_out(
        jax.make_jaxpr(update)(shape, shape, shape, jax.ShapeDtypeStruct((), "float32"))
    )
    found = [_elementwise.keeps_where_zero(closed, output, output, [2]) for output in range(2)]
    assert found == expected
