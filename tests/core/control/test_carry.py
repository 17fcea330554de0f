"""What a compiled loop carries from one iteration to the next."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax import core
from stratax.core.control import _carry, for_rows


def test_locals_of_any_structure_are_carried():
    @core.function
    def run(x):
        state = {"sum": jnp.zeros(2), "pair": (0, [1.0])}
        for i in core.range(3):
            state = {"sum": state["sum"] + x, "pair": (state["pair"][0] + i, [state["pair"][1][0] * 2])}
        return state

    result = run(jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(result["sum"], [3.0, 6.0])
    assert int(result["pair"][0]) == 3
    assert float(result["pair"][1][0]) == 8.0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_python_number_takes_the_dtype_that_the_loop_gives_it(dtype):
    @core.function
    def total(x):
        result = 0
        for _ in core.range(3):
            result += x
        return result

    result = total(jnp.ones((), dtype))
    assert result.dtype == dtype
    assert float(result) == 3.0


def test_a_local_first_assigned_in_the_loop_has_the_last_value_after_it():
    @core.function
    def last(n):
        for i in core.range(n):
            value = i * 10
        return value

    assert int(last(4)) == 30
    assert int(last(jnp.int32(4))) == 30
    assert int(last(jnp.int32(0))) == 0
    with pytest.raises(UnboundLocalError, match="'value' is used before it has a value"):
        last(0)


def test_objects_that_the_loop_leaves_alone_stay_what_they_are():
    @core.function
    def run(x):
        name, number = "a", 2
        for _ in core.range(3):
            x, name, number = x * number, name, number
        return x, name, number

    x, name, number = run(jnp.float32(1.0))
    assert (float(x), name, int(number)) == (8.0, "a", 2)


def test_random_keys_are_carried():
    @core.function
    def run(seed):
        key, total = jax.random.key(seed), 0.0
        for _ in core.range(3):
            key, now = jax.random.split(key)
            total += jax.random.uniform(now)
        return total

    expected, key = 0.0, jax.random.key(0)
    for _ in range(3):
        key, now = jax.random.split(key)
        expected += jax.random.uniform(now)
    np.testing.assert_allclose(run(jnp.uint32(0)), expected, rtol=1e-6)


def test_a_local_that_is_none_and_not_looked_at_is_as_if_first_assigned_and_may_stay_none():
    @core.function
    def run(x, n):
        last = nothing = never = None
        for i in core.range(n):
            last, nothing = x + i, None
            if is_wanted:
                never = x
        return last, nothing, never

    is_wanted = False
    for n in (3, jnp.int32(3)):
        last, nothing, never = run(jnp.float32(10.0), n)
        assert (float(last), nothing, never) == (12.0, None, None)


def test_without_an_iteration_what_is_carried_is_what_it_was():
    variable = core.Variable(5.0)

    @core.function
    def run(n, total):
        for i in core.range(n):
            total = total * 2 + i
            variable.assign(total)
        return total

    assert float(run(jnp.int32(0), jnp.float32(3.0))) == 3.0
    assert float(variable.value) == 5.0
    assert float(run(jnp.int32(2), jnp.float32(3.0))) == 13.0
    assert float(variable.value) == 13.0


@pytest.mark.parametrize("n", [4, np.int32(4)], ids=["known", "computed"])
def test_variables_are_carried_if_they_are_written_and_are_constants_if_they_are_only_read(n):
    total, scale, never = core.Variable(0.0), core.Variable(3.0), core.Variable(7.0)

    @core.function
    def run(n):
        for i in core.range(n):
            before = total.value
            total.assign(before + scale.value * i)
        return total.value, never.value

    assert [float(value) for value in run(n)] == [18.0, 7.0]
    assert (float(total.value), float(scale.value)) == (18.0, 3.0)


def test_a_loop_that_ends_by_its_condition_leaves_what_the_last_iteration_gave():
    variable = core.Variable(1.0)

    @core.function
    def run(limit):
        steps = 0
        while variable.value < limit:
            variable.assign(variable.value * 2)
            steps += 1
        return steps

    assert (int(run(jnp.float32(20.0))), float(variable.value)) == (5, 32.0)
    assert (int(run(jnp.float32(20.0))), float(variable.value)) == (0, 32.0)


def test_elements_know_their_type_and_their_parts():
    tens = _carry.Elements(5, lambda index: 10.0 * index)
    assert (tens.aval().shape, tens.aval().dtype) == ((), np.float32)
    part = tens.part(2, 3)
    assert (part.length, [part.at(index) for index in range(3)]) == (3, [20.0, 30.0, 40.0])
    counted = _carry.Elements(3)
    assert (counted.aval().shape, counted.aval().dtype) == ((), np.int32)


def test_results_that_are_kept_are_stacked_over_the_iterations():
    variable = core.Variable(1.0)

    @core.function
    def run(rows):
        def step(row):
            variable.assign(variable.value * row)
            return {"product": variable.value, "twice": row * 2}

        return for_rows(rows, step, keep=True)

    kept = run(jnp.float32([2.0, 3.0, 4.0]))
    assert {name: value.tolist() for name, value in kept.items()} == {
        "product": [2.0, 6.0, 24.0],
        "twice": [4.0, 6.0, 8.0],
    }
    assert float(variable.value) == 24.0
