"""Repeated tracing warns, names what changed and points at the call."""

import warnings

import jax.numpy as jnp
import pytest

import stratax as sx


def test_repeated_retracing_in_replicas_names_the_function_of_the_program():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def step(x):
        return x

    for rate in range(5):
        strategy.run(step, (float(rate),))
    with pytest.warns(RuntimeWarning, match=r"^<function .*step.*> was traced 5 times") as told:
        strategy.run(step, (5.0,))
    assert "MeshExecution" not in str(told[0].message)


def test_repeated_retracing_warns_and_names_the_argument_that_changed():
    @sx.function
    def f(x, options):
        return x * options["rate"]

    for rate in range(5):
        f(jnp.ones(2), {"rate": float(rate)})
    named = r"traced 5 times.*Argument 'options' \(at \['rate'\]\) changed from 4.0 to 5.0"
    with pytest.warns(RuntimeWarning, match=named):
        f(jnp.ones(2), {"rate": 5.0})
    for size in range(3, 7):
        f(jnp.ones(size), {"rate": 0.0})
    with pytest.warns(RuntimeWarning, match=r"Argument 'x' changed from float32\[6\] to float32\[7\]"):
        f(jnp.ones(7), {"rate": 0.0})
    for size in range(8, 12):
        f(jnp.ones(size), {"rate": 0.0})
    with pytest.warns(RuntimeWarning, match="structure of its arguments changed"):
        f(jnp.ones(7), {"rate": 0.0, "more": 1})


def test_the_warning_points_at_the_call():
    f = sx.function(lambda x: x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(6):
            f(number)
    assert [w.filename for w in caught] == [__file__]
