"""What functions are rewritten to can be looked at."""

import types

import jax.numpy as jnp
import pytest

import stratax.tf as tf
from stratax import errors


def powers(x, n):
    for _ in tf.range(n):
        x = x * 2
    return x


def test_a_function_is_shown_as_it_is_rewritten():
    code = tf.autograph.to_code(powers)
    assert code.startswith("def ag__powers(x, n):") or "powers(x, n):" in code.partition("\n")[0]
    assert "ag__.for_stmt" in code
    assert "for_stmt" in tf.autograph.to_code(types.MethodType(powers, 1))
    assert "ag__" in tf.autograph.to_code(tf.function(powers).python_function)
    with pytest.raises(errors.BadTypeError, match="must be a function of Python's"):
        tf.autograph.to_code(print)
    exec("def f(x): return x", space := {})
    with pytest.raises(errors.BadTypeError, match="has no source code"):
        tf.autograph.to_code(space["f"])


def test_a_function_is_rewritten_by_itself(capsys):
    double = tf.autograph.to_graph(powers)
    assert float(double(jnp.float32(1), 3)) == 8
    tf.autograph.trace("traced", 1)
    tf.autograph.set_verbosity(3)
    assert capsys.readouterr().out == "traced 1\n"
