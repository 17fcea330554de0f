"""Chains of operations are found where nobody else sees their results, and change no function's behaviour."""

import functools
import linecache
import sys
import traceback

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.elements import flatten
from stratax.data.vectorise import Deferred, chain_operations, deferrable, result_of

LOG = []
SINGLE = flatten(0)[1]


class Sum(Deferred):
    __slots__ = ("numbers",)

    def __init__(self, *numbers):
        self.numbers = numbers

    def value(self, into=None):
        LOG.append("computed")
        return sum(self.numbers)

    def operate(self, symbol, operand):
        if symbol != "+" or type(operand) is not int:
            return None
        return Sum(*self.numbers, operand)


def _later(first, number=1):
    if number < 0:
        raise ValueError("told by add itself")
    numbers = first.numbers if isinstance(first, Sum) else (first,)
    return Sum(*numbers, number)


@deferrable(_later)
def add(first, number=1):
    LOG.append("added")
    assert not isinstance(first, Deferred)
    if number < 0:
        raise ValueError(f"number is {number}")
    return first + number


@deferrable(_later)
def also_add(first, number=1):
    LOG.append("added")
    assert not isinstance(first, Deferred)
    if number < 0:
        raise ValueError(f"number is {number}")
    return first + number


@functools.wraps(add)
def wrapped(first, number=1):
    LOG.append("wrapped")
    return add(first, number)


def joined_of(function):
    joined = chain_operations(function)
    return joined if joined is function else lambda *args: result_of(joined, SINGLE, args)[0][0]


def seen(value):
    assert not isinstance(value, Deferred)
    return value


def in_one_expression(x):
    return add(also_add(x, 2), number=3)


def in_statements(x):
    """Keep its documentation."""
    x = add(x)
    x = also_add(x, 2) + 3
    return add(x)


def under_a_condition(x, twice=True):
    if twice:
        x = add(x)
        x = also_add(x)
        return x
    return add(also_add(x))


def with_cells(number):
    def function(x):
        x = add(x, number)
        return also_add(x, number)

    return function


def computed_between(x):
    x = add(x)
    seen(x)
    return also_add(x)


def used_twice(x):
    x = add(x)
    return also_add(x, x)


def kept(x):
    y = add(x)
    z = also_add(y)
    return y, z


def seen_by_a_function(x):
    x = add(x)
    x = also_add(x, (lambda: seen(x))())
    return x


def beside_a_call(x):
    return also_add(add(x), seen(2))


def on_the_right(x):
    return 2 + add(also_add(x))


def in_try(x):
    try:
        x = add(x)
        x = also_add(x, "no number")
    except TypeError:
        return seen(x)
    return x


def in_a_loop(x):
    for _ in range(2):
        x = add(x)
        x = also_add(x)
    return x


def looks_around(x):
    x = add(x)
    x = also_add(x, len([v for v in locals().values() if seen(v)]))
    return x


def with_a_wrapper(x):
    return also_add(wrapped(add(x)))


def other_operators(x):
    return (add(also_add(x)) - 1) * 2.5


def suspended(x):
    x = add(x)
    x = also_add(x, (yield))
    yield x


CHAINED = (in_one_expression, in_statements, under_a_condition, with_cells(4), kept, other_operators)
LEFT = (
    computed_between,
    used_twice,
    seen_by_a_function,
    in_try,
    in_a_loop,
    looks_around,
    # What is called there could change what the chain is going to read.
    beside_a_call,
)


@pytest.fixture(autouse=True)
def _no_log():
    LOG.clear()


@pytest.mark.parametrize("function", [*CHAINED, *LEFT, on_the_right, with_a_wrapper])
def test_a_function_gives_the_same_with_its_chains(function):
    wanted = function(1)
    assert joined_of(function)(1) == wanted


@pytest.mark.parametrize("function", [in_one_expression, in_statements, under_a_condition, with_cells(4)])
def test_a_chain_is_computed_once_at_its_end(function):
    joined = joined_of(function)
    assert joined is not function
    joined(1)
    assert LOG == ["computed"]


@pytest.mark.parametrize("function", LEFT)
def test_what_others_could_see_is_computed_at_once(function):
    assert chain_operations(function) is function


def test_a_generator_is_left_alone():
    assert chain_operations(suspended) is suspended


def test_functions_are_looked_up_when_they_are_called(monkeypatch):
    joined = joined_of(in_one_expression)
    monkeypatch.setattr(sys.modules[__name__], "add", lambda value, number: seen(value) * number)
    assert joined(1) == in_one_expression(1) == 9


def test_what_wraps_an_operation_is_called():
    LOG.clear()
    assert joined_of(with_a_wrapper)(1) == 4
    assert "wrapped" in LOG


def test_cells_and_defaults_are_those_of_the_function():
    cell = {"number": 1}

    def function(x, *, more=5):
        x = add(x, cell["number"] * 0 + more)
        return also_add(x, more)

    def with_nonlocal(x):
        nonlocal total
        x = add(x, total)
        x = also_add(x, total)
        total += 1
        return x

    total = 1
    assert joined_of(function)(1) == function(1)
    joined = joined_of(with_nonlocal)
    assert [joined(0), joined(0), total] == [2, 4, 3]


def test_names_and_documentation_stay():
    joined = chain_operations(in_statements)
    assert (joined.__name__, joined.__qualname__) == ("in_statements", "in_statements")
    assert joined.__doc__ == in_statements.__doc__


def test_an_operation_tells_its_own_errors_at_its_own_line():
    def function(x):
        x = add(x)
        x = also_add(x, -1)
        return x

    joined = chain_operations(function)
    assert joined is not function
    with pytest.raises(ValueError, match="number is -1") as info:
        joined(1)
    lines = [frame.lineno for frame in traceback.extract_tb(info.tb) if frame.name == "function"]
    assert lines == [function.__code__.co_firstlineno + 2]


def test_a_source_that_was_edited_is_not_taken(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("def function(x):\n    x = add(x)\n    return also_add(x)\n")
    space = {"add": add, "also_add": also_add}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert chain_operations(space["function"]) is not space["function"]
    path.write_text("def function(x):\n    x = add(x)\n    return also_add(x, 7)\n")
    linecache.clearcache()
    assert chain_operations(space["function"]) is space["function"]
    path.unlink()
    linecache.clearcache()
    assert chain_operations(space["function"]) is space["function"]


@pytest.mark.parametrize("threads", [1, 2])
def test_map_joins_what_follows_one_another_after_the_first_result(threads):
    made = list(Dataset.from_tensor_slices(np.arange(6)).map(in_statements, num_parallel_calls=threads))
    assert made == [in_statements(x) for x in range(6)]
    assert "computed" in LOG


def test_map_sees_the_elements_before_a_failure_on_threads():
    def function(x):
        if x == 5:
            raise ValueError("no")
        return np.int64(x)

    elements = iter(Dataset.from_tensor_slices(np.arange(9)).map(function, num_parallel_calls=3))
    assert [next(elements) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="no"):
        next(elements)
    assert next(elements) == 6
