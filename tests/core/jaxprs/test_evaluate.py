"""A jaxpr is computed as it is, or by a rule."""

import jax
import jax.numpy as jnp
import numpy as np

from stratax.core import jaxprs

TABLE = np.arange(3.0, dtype="float32")


@jax.jit
def called(x):
    return jnp.sin(x) + 1.0


def function(x):
    values, places = jax.lax.top_k(called(x) * TABLE, 2)
    return values, places, x


def names(closed):
    return [each.primitive.name for each in jaxprs.equations(closed.jaxpr)]


def test_without_a_rule_the_results_are_those_of_the_function():
    x = np.float32(0.5)
    found = jaxprs.evaluate(jax.make_jaxpr(function)(x), [x])
    for mine, expected in zip(found, function(x), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-6)


def test_a_rule_says_what_an_equation_becomes():
    x = np.float32(0.5)

    def rule(equation, operands):
        # A function that is called becomes its operand.
        return operands if equation.primitive.name == "jit" else None

    values, _, same = jaxprs.evaluate(jax.make_jaxpr(function)(x), [x], rule)
    np.testing.assert_allclose(values, [1.0, 0.5])
    assert same is x


def test_traced_again_with_a_rule_it_is_another_program():
    def rule(equation, operands):
        if equation.primitive.name == "jit":
            return jaxprs.evaluate(equation.params["jaxpr"], operands, rule)
        return None

    x = np.float32(0.5)
    closed = jax.make_jaxpr(function)(x)
    written = jaxprs.trace_again(closed, rule)
    assert "jit" in names(closed)
    assert "jit" not in names(written)
    assert "sin" in names(written)
    np.testing.assert_allclose(jaxprs.evaluate(written, [x])[0], function(x)[0], rtol=1e-6)


def test_put_in_as_they_are_equations_are_not_traced_again(monkeypatch):
    x = np.float32(0.5)
    closed = jax.make_jaxpr(function)(x)
    traced = []
    monkeypatch.setattr(jax.lax.sin_p, "bind", lambda *args, **params: traced.append(args))
    within = jax.make_jaxpr(lambda y: jaxprs.inline(closed, [y + 1.0]))(x)
    assert names(within) == ["add", *names(closed)]
    assert traced == []
    monkeypatch.undo()
    for mine, expected in zip(jaxprs.evaluate(within, [x]), function(x + 1.0), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-6)


def test_put_into_nothing_they_are_computed():
    x = np.float32(0.5)
    values, _, same = jaxprs.inline(jax.make_jaxpr(function)(x), [x])
    np.testing.assert_allclose(values, function(x)[0], rtol=1e-6)
    assert same is x


def test_gradients_go_through_what_was_put_in():
    x = np.float32(0.5)
    closed = jax.make_jaxpr(function)(x)
    found = jax.grad(lambda y: jaxprs.inline(closed, [y])[0].sum())(x)
    np.testing.assert_allclose(found, 3 * np.cos(x), rtol=1e-6)


def test_an_operation_is_done_with_other_operands_and_parameters():
    (equation,) = jaxprs.equations(jax.make_jaxpr(lambda x: jax.lax.cumsum(x, axis=0))(TABLE).jaxpr)
    np.testing.assert_array_equal(jaxprs.bind(equation, [TABLE + 1])[0], [1.0, 3.0, 6.0])
    np.testing.assert_array_equal(jaxprs.bind(equation, [TABLE + 1], reverse=True)[0], [6.0, 5.0, 3.0])


def test_a_literal_has_its_value_and_a_variable_the_known_one():
    (equation,) = jaxprs.equations(jax.make_jaxpr(lambda x: x + 2.0)(1.0).jaxpr)
    variable, literal = equation.invars
    assert jaxprs.value_of({variable: "x"}, variable) == "x"
    assert jaxprs.value_of({}, literal) == 2.0
