"""A function whose statements were rewritten computes the same, in the same order."""

import contextlib
import warnings

import jax.numpy as jnp
import pytest

from stratax import core
from stratax.core import autograph


def note(log, value):
    log.append(value)
    return value


def keywords(**values):
    return values


@contextlib.contextmanager
def block(log, value=0):
    log.append(("enter", value))
    yield value
    log.append(("exit", value))


def call_in_with(log):
    with block(log):
        note(log, (y := 3))
        result = [note(log, 1), (z := note(log, 2)), note(log, y), *[(w := 5)]]
    return y, z, w, result


def second_item_of_with(log):
    with block(log, 1) as a, block(log, (b := a + 1)) as c:
        log.append((a, b, c))


def short_circuits(log):
    results = []
    for first in (0, 1):
        for second in (0, 1):
            x = y = None
            results.append((note(log, first) and (x := note(log, second)), x))
            results.append((note(log, first) or (y := note(log, second)) or note(log, 7), y))
    return results


def choice(log):
    a = b = 0
    for flag in (False, True):
        log.append((a := note(log, 1)) if note(log, flag) else (b := note(log, 2)))
    return a, b


def earlier_reads(log):
    y = 1
    value = y + (y := 2) * y
    values = {note(log, "k"): note(log, 1), "m": (y := 3), **note(log, {"n": y})}
    text = [0, 1, 2, 3][(i := 1) : note(log, 3)]
    return value, values, text, i, keywords(a=note(log, 1), b=(q := 2)), q


def while_with_assignment(log):
    items = [1, 2, 3, 0, 4]
    total = 0
    while (item := items.pop(0)) and note(log, True):
        if item == 2:
            continue
        total += item
    return total, item


def while_with_assignment_and_else(log):
    items = [1, 0]
    while item := items.pop(0):
        note(log, item)
    else:
        log.append("else")
    return item


def augmented(log):
    values = [1, 2]
    values[note(log, 0)] += (y := note(log, 5))
    y += (y := 10)
    return values, y


def elif_with_assignment(log):
    if (a := note(log, 0)) > 1:
        return a
    elif (b := note(log, 2)) > 1:
        return b
    return None


def returned(log):
    return (a := note(log, 1)) + a


def loops_with_else(log):
    results = []
    for wanted in (2, 9):
        for i in [1, 2, 3]:
            for _ in [0]:
                break
            else:
                log.append("never")
            if i == wanted:
                results.append("found")
                break
        else:
            results.append("none")
    return results


def break_in_inner_else(log):
    for i in [1, 2]:
        for _ in [0]:
            continue
        else:
            log.append(i)
            break
    else:
        log.append("never")


def return_from_a_loop_with_else(log):
    while True:
        for i in [1]:
            if i:
                return "returned"
        else:
            log.append("never")


def exception_from_a_loop_with_else(log):
    try:
        for i in [1]:
            raise ValueError(str(i))
        else:
            log.append("never")
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "function",
    [
        call_in_with,
        second_item_of_with,
        short_circuits,
        choice,
        earlier_reads,
        while_with_assignment,
        while_with_assignment_and_else,
        augmented,
        elif_with_assignment,
        returned,
        loops_with_else,
        break_in_inner_else,
        return_from_a_loop_with_else,
        exception_from_a_loop_with_else,
    ],
    ids=lambda function: function.__name__,
)
def test_a_rewritten_function_computes_the_same_in_the_same_order(function):
    expected_log, log = [], []
    expected = function(expected_log)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        converted = autograph.convert(function)
    assert converted is not function
    assert converted(log) == expected
    assert log == expected_log


def test_assignment_expressions_are_values_of_a_compiled_program():
    def run(n):
        total = jnp.float32(0)
        with contextlib.nullcontext():
            note([], (step := 3))
            for _ in core.range(n):
                if (twice := total * 2) < 20:
                    total += step
        return total, twice

    total, twice = core.function(run)(4)
    assert (float(total), float(twice)) == (12.0, 18.0)


def test_a_while_loop_on_an_array_assigns_in_its_condition():
    def run(n):
        total = jnp.float32(0)
        while (total := total + 1) < n:
            pass
        return total

    assert float(core.function(run)(jnp.float32(5))) == 5.0


@pytest.mark.parametrize(("n", "expected"), [(4, 54.0), (200, 101.0)])
def test_the_else_of_a_compiled_loop_runs_where_no_break_did(n, expected):
    def run(n):
        total = jnp.float32(0)
        for _ in core.range(n):
            total += 1
            if total > 100:
                break
        else:
            total += 50
        return total

    assert float(core.function(run)(n)) == expected


def test_the_else_of_a_compiled_while_runs():
    def run(n):
        i = jnp.int32(0)
        while i < n:
            i += 1
        else:
            i += 100
        return i

    assert int(core.function(run)(jnp.int32(5))) == 105
