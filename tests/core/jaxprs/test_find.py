"""What depends on what in a jaxpr is found, and nothing else."""

import jax
import jax.numpy as jnp

from stratax.core import jaxprs


def function(x, y):
    left, right = jnp.sin(x), jnp.cos(y)
    unused = jnp.exp(x)
    return left * right, jnp.tan(right) + 1.0, unused


JAXPR = jax.make_jaxpr(function)(1.0, 2.0).jaxpr
X, Y = JAXPR.invars
BY_NAME = {equation.primitive.name: equation for equation in JAXPR.eqns}


def names(equations):
    return [equation.primitive.name for equation in equations]


def made_by(name):
    return BY_NAME[name].outvars[0]


def test_literals_are_no_variables():
    assert len(BY_NAME["add"].invars) == 2
    assert jaxprs.variables_of(BY_NAME["add"].invars) == [made_by("tan")]


def test_what_a_result_is_computed_of_is_given_in_order():
    needed = jaxprs.find_needed(JAXPR, [JAXPR.outvars[1]])
    assert names(needed.equations) == ["cos", "tan", "add"]
    assert needed.variables == {Y, made_by("cos"), made_by("tan"), made_by("add")}


def test_nothing_is_needed_for_an_argument_or_a_literal():
    literal = next(atom for atom in BY_NAME["add"].invars if atom not in jaxprs.variables_of([atom]))
    assert jaxprs.find_needed(JAXPR, [X, literal]) == ([], {X})


def test_what_is_needed_anyhow_needs_its_operands():
    found = jaxprs.find_needed(JAXPR, also=lambda equation: equation.primitive.name == "mul").equations
    assert names(found) == ["sin", "cos", "mul"]


def test_dependents_are_the_variables_themselves_and_what_is_computed_of_them():
    assert jaxprs.dependents_of(JAXPR, [X]) == {X, made_by("sin"), made_by("exp"), made_by("mul")}


def test_the_others_keep_their_order():
    assert names(jaxprs.others(JAXPR, [BY_NAME["cos"], BY_NAME["add"]])) == ["sin", "exp", "mul", "tan"]


def test_makers_are_known_by_what_they_make():
    assert jaxprs.makers(JAXPR)[made_by("tan")] is BY_NAME["tan"]
    assert X not in jaxprs.makers(JAXPR)


def test_a_variable_is_spent_where_it_is_read_last():
    spent = dict(zip(names(JAXPR.eqns), jaxprs.last_uses(JAXPR), strict=True))
    assert spent.pop("mul") == [made_by("sin")]
    assert spent.pop("tan") == [made_by("cos")]
    assert spent.pop("add") == [made_by("tan")]
    # Arguments and results are kept.
    assert not any(spent.values())


def test_what_nobody_reads_is_spent_where_it_is_made():
    jaxpr = jax.make_jaxpr(lambda x: (jnp.sin(x), x)[1])(1.0).jaxpr
    (made,) = jaxpr.eqns[0].outvars
    assert jaxprs.last_uses(jaxpr) == [[made]]
