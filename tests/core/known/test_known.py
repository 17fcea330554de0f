"""Values that depend on constants and variables alone are known while a function is traced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax.core import known


def test_only_what_depends_on_no_argument_is_known():
    variable = sx.Variable(3.0)
    seen = []

    def traced(x):
        with known.keeping(True):
            made = jnp.sin(jnp.zeros(2)) + variable.value
            seen.append(np.asarray(known.value_now(made)).tolist())
            with pytest.raises(LookupError):
                known.value_now(made + x)
        return made + x

    assert np.asarray(sx.function(traced, autograph=False)(jnp.float32(1))).tolist() == [4, 4]
    assert seen == [[3, 3]]


def test_nothing_is_known_where_nobody_keeps_it():
    with pytest.raises(known.NotKeptError):
        jax.jit(lambda x: known.value_now(x))(1.0)
