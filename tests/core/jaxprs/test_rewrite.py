"""Equations are replaced wherever they stand, and what has none of them stays the very same."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jax_core

from stratax.core import jaxprs

COSINE = jax.make_jaxpr(jnp.cos)(1.0).jaxpr.eqns[0].primitive


def to_cosine(equation):
    return equation.replace(primitive=COSINE) if equation.primitive.name == "sin" else None


def same_effects(before, is_changed):
    return before


def rewritten(function, *arguments, effects_of=same_effects):
    return jaxprs.rewrite(jax.make_jaxpr(function)(*arguments), to_cosine, effects_of)


def test_an_equation_is_replaced_however_deep():
    def function(x):
        x = jax.lax.cond(x > 0, jax.jit(jnp.sin), lambda v: v, x)
        return jax.lax.fori_loop(0, 2, lambda _, v: jnp.sin(v), x)

    made = rewritten(function, 1.0)
    assert not jaxprs.contains(made.jaxpr, lambda equation: equation.primitive.name == "sin")
    (found,) = jax_core.jaxpr_as_fun(made)(1.0)
    np.testing.assert_allclose(found, np.cos(np.cos(np.cos(1.0))), rtol=1e-6)


def test_what_has_no_such_equation_stays_the_very_same():
    closed = jax.make_jaxpr(lambda x: jax.jit(jnp.tan)(x) + jax.jit(jnp.sin)(x))(1.0)
    made = jaxprs.rewrite(closed, to_cosine, same_effects)
    before, after = jaxprs.equations(closed.jaxpr), jaxprs.equations(made.jaxpr)
    assert [left is right for left, right in zip(before, after, strict=True)] == [True, False, True]
    assert jaxprs.rewrite(made, to_cosine, same_effects).jaxpr is made.jaxpr


def test_a_jaxpr_that_stands_twice_is_gone_through_once():
    inner = jax.jit(jnp.sin)
    asked = []

    def change(equation):
        asked.append(equation.primitive.name)
        return to_cosine(equation)

    jaxprs.rewrite(jax.make_jaxpr(lambda x: inner(inner(x)))(1.0), change, same_effects)
    assert asked.count("sin") == 1


def test_effects_are_those_of_what_is_in_it_now():
    seen = []

    def effects_of(before, is_changed):
        seen.append(is_changed)
        return {*before, "called"} if is_changed else before

    made = rewritten(lambda x: jax.jit(jnp.tan)(jax.jit(jnp.sin)(x)), 1.0, effects_of=effects_of)
    assert made.jaxpr.effects == {"called"}
    assert [each.effects for each in jaxprs.equations(made.jaxpr)] == [{"called"}, set()]
    # Of tan's jaxpr too: it may have to have what the others have.
    assert seen.count(False) == 1
