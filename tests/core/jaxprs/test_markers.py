"""Markers stand for what is fed in, wherever they stand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax.core import jaxprs


def fed(index, shape=()):
    return jaxprs.input_p.bind(index=index, aval=jax.core.ShapedArray(shape, np.dtype("float32")))


@pytest.fixture
def closed():
    # The second one is met first, and one stands behind other equations.
    return jax.make_jaxpr(lambda x: jnp.sin(x) * fed(1) + fed(0, (2,)))(1.0)


def test_markers_are_known_by_number(closed):
    markers = jaxprs.markers_of(closed.jaxpr)
    assert {number: variable.aval.shape for number, variable in markers.items()} == {1: (), 0: (2,)}


def test_without_markers_all_else_stays_in_order(closed):
    names = [each.primitive.name for each in jaxprs.equations(closed.jaxpr)]
    rest = [each.primitive.name for each in jaxprs.equations(jaxprs.without_markers(closed.jaxpr))]
    assert rest == [name for name in names if name != "stratax_input"]
    assert len(rest) == len(names) - 2


def test_lifted_markers_are_the_first_arguments(closed):
    (found,) = jaxprs.lift_inputs(closed, 2)(jnp.float32([1.0, 2.0]), jnp.float32(3.0), jnp.float32(0.0))
    np.testing.assert_array_equal(found, [1.0, 2.0])
    (found,) = jaxprs.lift_inputs(closed, 2)(
        jnp.float32([1.0, 2.0]), jnp.float32(3.0), jnp.float32(np.pi / 2)
    )
    np.testing.assert_array_equal(found, [4.0, 5.0])
