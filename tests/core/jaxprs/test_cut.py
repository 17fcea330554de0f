"""A part of a jaxpr computes that part, and passes JAX' checks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as jax_core

from stratax.core import jaxprs

TABLE = np.arange(3.0, dtype="float32")


def function(x, y):
    product = x * y + TABLE
    return jnp.sum(product), product - 1.0


@pytest.fixture
def closed():
    return jax.make_jaxpr(function)(2.0, 3.0)


@pytest.fixture(autouse=True)
def checks():
    before = jax.config.jax_enable_checks
    jax.config.update("jax_enable_checks", True)
    yield
    jax.config.update("jax_enable_checks", before)


def test_a_cut_has_other_inputs_and_outputs_and_the_same_constants(closed):
    equations = jaxprs.equations(closed.jaxpr)
    index = next(i for i, each in enumerate(equations) if each.primitive.name == "mul")
    (product,) = equations[index].outvars
    rest = jaxprs.cut(closed, inputs=[product], equations=equations[index + 1 :])
    total, shifted = jax_core.jaxpr_as_fun(rest)(jnp.float32(6.0))
    assert total == 21.0
    np.testing.assert_array_equal(shifted, [5.0, 6.0, 7.0])
    first = jaxprs.cut(closed, outputs=[product], equations=equations[: index + 1])
    assert jax_core.jaxpr_as_fun(first)(2.0, 3.0) == [6.0]


def test_what_is_not_given_stays(closed):
    same = jaxprs.cut(closed)
    assert str(same) == str(closed)
    assert same.consts is closed.consts or list(same.consts) == list(closed.consts)


def test_a_part_that_is_cut_out_takes_constants_as_inputs(closed):
    add = next(each for each in jaxprs.equations(closed.jaxpr) if each.primitive.name == "add")
    inputs = jaxprs.variables_of(add.invars)
    part = jaxprs.cut_out(closed.jaxpr, [add], inputs, add.outvars)
    assert not part.consts
    (found,) = jax_core.jaxpr_as_fun(part)(*(jnp.full(each.aval.shape, 2.0) for each in inputs))
    np.testing.assert_array_equal(found, [4.0, 4.0, 4.0])


def test_constants_become_the_last_inputs(closed):
    opened = jaxprs.with_constants_as_inputs(closed)
    assert len(opened.in_avals) == len(closed.in_avals) + len(closed.consts)
    assert not opened.consts
    total, _ = jax_core.jaxpr_as_fun(opened)(2.0, 3.0, *(constant + 1 for constant in closed.consts))
    assert total == 24.0
