"""`variable.value` is a property and a method."""

import copy

import jax
import jax.numpy as jnp

import stratax as sx
from stratax.core.regions import outside_scopes


def test_the_value_of_a_variable_is_asked_for_as_a_property_and_as_a_method():
    v = sx.Variable([1.0, 2.0])
    # In statements of their own: pytest takes the expressions of an assertion apart, and calls what it has got before.
    called, plain, total = v.value(), v.value, jnp.sum(v.value()) + v.value[0]
    copied = [each.value().tolist() for each in (v, copy.deepcopy(v))]
    assert isinstance(called, jax.Array)
    assert isinstance(plain, jax.Array)
    assert called.tolist() == plain.tolist() == [1, 2]
    assert float(total) == 4
    assert copied == [[1, 2], [1, 2]]
    assert v.read_value().tolist() == [1, 2]


def test_in_a_function_too_converted_or_not():
    v = sx.Variable(1.0)

    def read():
        v.assign_add(1.0)
        return v.value(), v.value * 2, v.value() * 3

    for converted in (True, False):
        with outside_scopes():
            v.assign(1.0)
        assert [float(each) for each in sx.function(read, autograph=converted)()] == [2, 4, 6]


def test_a_value_far_into_a_long_function():
    # More names than an operation of one byte can count.
    names = "\n".join(f"    n{i} = o.a{i}" for i in range(300))
    scope = {}
    exec(f"def read(o, v):\n{names}\n    return v.value(), v.value", scope)
    called, plain = scope["read"](type("O", (), {f"a{i}": i for i in range(300)}), sx.Variable(3.0))
    assert float(called) == float(plain) == 3
