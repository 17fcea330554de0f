"""Bodies of loops and branches: what they read is an input, and what they may not take is refused."""

import jax.numpy as jnp
import pytest

import stratax as sx
from stratax import errors


def test_a_variable_that_a_loop_reads_is_an_input_of_its_program():
    variable, traces = sx.Variable(1.0), []

    @sx.function
    def doubled(n):
        for _ in sx.range(n):
            traces.append(n)
            variable.assign(2 * variable)
        return variable.value

    assert float(doubled(jnp.int32(3))) == 8.0
    variable.assign(5.0)
    # The program has the value that the variable has now, and is not traced anew.
    assert float(doubled(jnp.int32(3))) == 40.0
    assert len(traces) == 1


def test_a_branch_takes_no_element():
    iterator = iter(sx.Dataset.range(4))

    @sx.function
    def taken(x):
        if x > 0:
            x = x + next(iterator)
        return x

    with pytest.raises(errors.TracingError, match="in one branch of an `if` on an array"):
        taken(jnp.int32(3))
