"""Equations are given in the order of the program, those inside of others behind these."""

import jax
import jax.numpy as jnp
import pytest

from stratax.core import jaxprs


def outer(x):
    x = jnp.sin(x)
    x = jax.lax.cond(x > 0, lambda v: jax.jit(jnp.tan)(v), jnp.cos, x)
    return jnp.exp(x)


@pytest.fixture(scope="module")
def jaxpr():
    return jax.make_jaxpr(outer)(1.0).jaxpr


def names(equations):
    return [equation.primitive.name for equation in equations]


def test_only_direct_equations_are_those_of_the_jaxpr_itself(jaxpr):
    assert names(jaxprs.equations(jaxpr)) == ["sin", "gt", "convert_element_type", "cond", "exp"]


def test_nested_equations_stand_behind_what_they_are_inside_of(jaxpr):
    found = names(jaxprs.walk_nested(jaxpr))
    assert found[:4] == ["sin", "gt", "convert_element_type", "cond"]
    assert found[-1] == "exp"
    # The branches are in JAX' order: the one for false first.
    assert found[4:-1] == ["cos", "jit", "tan"]


def test_a_chain_tells_what_an_equation_is_inside_of(jaxpr):
    (chain,) = [each for each in jaxprs.chains(jaxpr) if each[-1].primitive.name == "tan"]
    assert names(chain) == ["cond", "jit", "tan"]


@pytest.mark.parametrize(("name", "expected"), [("tan", True), ("exp", True), ("log", False)])
def test_an_equation_is_found_however_deep(jaxpr, name, expected):
    assert jaxprs.contains(jaxpr, lambda equation: equation.primitive.name == name) is expected


@pytest.mark.parametrize(("name", "expected"), [("cond", True), ("tan", True), ("exp", False)])
def test_an_equation_is_asked_with_those_inside_it(jaxpr, name, expected):
    (cond,) = [each for each in jaxprs.equations(jaxpr) if each.primitive.name == "cond"]
    assert jaxprs.holds_within(cond, lambda equation: equation.primitive.name == name) is expected


def test_who_asks_says_what_is_inside_an_equation(jaxpr):
    assert "tan" not in names(jaxprs.walk_nested(jaxpr, lambda equation: ()))
    assert list(jaxprs.levels(jaxpr, lambda equation: ())) == [jaxpr]
    assert [len(jaxprs.equations(level)) for level in jaxprs.levels(jaxpr)] == [5, 1, 1, 1]
