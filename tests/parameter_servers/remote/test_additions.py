"""What a function adds to a variable is found where it does nothing else to it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax.core import jaxprs
from stratax.parameter_servers.remote import _additions

OLD = np.zeros((4, 2), "float32")


def found_in(function, *given):
    """What `function(old, *given)` adds to the old value, and the values that it adds."""
    closed = jax.make_jaxpr(function)(OLD, *given)
    additions = _additions.additions_of(closed, 0, closed.jaxpr.invars[0])
    if additions is None:
        return None
    atoms = [atom for addition in additions for atom in addition.atoms]
    values = jaxprs.evaluate(jaxprs.cut(closed, outputs=atoms), [OLD, *given])
    return additions, values


def applied(additions, values, old):
    rest = iter(values)
    for addition in additions:
        old = addition.make(old, *[next(rest) for _ in addition.atoms])
    return old


@pytest.mark.parametrize(
    "function",
    [
        lambda old, x: old + x,
        lambda old, x: old - 2 * x,
        lambda old, x: (old + jnp.sin(x)) - x,
        lambda old, x: jnp.asarray(old).at[jnp.array([1, 3])].add(x[:2]) + x,
        # What is added may depend on the variable.
        lambda old, x: old + old * x + x,
    ],
)
def test_additions_made_again_give_what_the_function_gives(function):
    x = np.arange(8, dtype="float32").reshape(4, 2)
    additions, values = found_in(function, x)
    np.testing.assert_allclose(applied(additions, values, OLD), function(OLD, x), rtol=1e-6)
    # Of another's value, too: nothing of it is lost.
    np.testing.assert_allclose(applied(additions, values, OLD + 1), function(OLD, x) + 1, rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda old, x: old * x,
        lambda old, x: x + 1,
        lambda old, x: old,
        lambda old, x: x - old,
        lambda old, x: jnp.zeros_like(old),
    ],
)
def test_any_other_change_is_no_addition(function):
    assert found_in(function, np.ones_like(OLD)) is None
