"""Marks of values in a traced function: which of them its results depend on."""

import jax
import jax.numpy as jnp
import pytest

from stratax.core.known import find_used_marks, mark


def _looped(x):
    return jax.lax.fori_loop(0, 3, lambda _, total: total + mark(x["a"], "a"), 0)


@pytest.mark.parametrize(
    ("function", "used"),
    [
        (lambda x: mark(x["b"], "b") * 2, {"b"}),
        (lambda x: mark(x["b"], "b"), {"b"}),
        # What is computed of it reaches no result.
        (lambda x: (jnp.sin(mark(x["a"], "a") * 1.0), x["b"])[1], set()),
        (lambda x: jax.jit(lambda x: (mark(x["a"], "a") + 1, mark(x["b"], "b"))[0])(x), {"a"}),
        (_looped, {"a"}),
        (lambda x: jax.debug.print("{}", mark(x["a"], "a")), {"a"}),
    ],
)
def test_marks_are_found_where_a_result_or_an_effect_depends_on_them(function, used):
    assert find_used_marks(jax.make_jaxpr(function)({"a": 1, "b": 2})) == used
