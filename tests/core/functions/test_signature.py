"""What makes two calls the same program."""

import enum
import functools
import re

import jax.numpy as jnp
import numpy as np
import pytest

from stratax.core.functions import _signature


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Thing:
    def method(self):
        return self

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


FACTOR = 2.0


def reader(x):
    return x * FACTOR


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


class Scaling:
    def __init__(self, factor):
        self.factor = factor
        self.calls = 0
        self.other = 0

    def scaled(self, x):
        self.calls = self.calls + 1
        return x * self.factor


def adder(n):
    def add(x, *, scale=2.0):
        return x * scale + n

    return add


THING = Thing()


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1, True),
        (1, True, False),
        (1, 1.0, False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        (1j, complex(0, 1), True),
        ("a", "a", True),
        (b"a", "a", False),
        (Color.RED, Color.RED, True),
        (Color.RED, Color.BLUE, False),
        (slice(1, 2), slice(1, 2), True),
        (slice(1, 2), slice(1, 3), False),
        (range(3), range(3), True),
        (np.dtype("int8"), np.dtype("int8"), True),
        (int, float, False),
        (THING, THING, True),
        (THING, Thing(), False),
        (THING.method, THING.method, True),
        (THING.method, Thing().method, False),
        (adder(1), adder(1), True),
        (adder(1), adder(2), False),
        (functools.partial(adder(1), scale=3.0), functools.partial(adder(1), scale=3.0), True),
        (functools.partial(adder(1), scale=3.0), functools.partial(adder(1), scale=4.0), False),
    ],
    ids=lambda value: re.sub(r" at 0x[0-9a-f]+", "", repr(value)),  # Addresses differ between processes.
)
def test_static_values_have_equal_keys_where_a_program_may_be_shared(left, right, same):
    keys = _signature.static_key(left), _signature.static_key(right)
    assert (keys[0] == keys[1]) == same
    assert not same or hash(keys[0]) == hash(keys[1])


def test_functions_that_refer_to_themselves_or_to_later_ones_have_keys():
    def make():
        def first(n):
            return second(n)

        key = _signature.static_key(first)  # `second` is not defined yet

        def second(n):
            return first(n)

        return key, _signature.static_key(first), _signature.static_key(second)

    assert len(set(make())) == 3


def test_arguments_are_sorted_and_put_together_again():
    arguments = _signature.sort_arguments(({"x": jnp.ones(2), "how": "mean"}, [np.zeros(3), None, 4]))
    assert [array.shape for array in arguments.dynamic] == [(3,), (2,)] or [
        array.shape for array in arguments.dynamic
    ] == [(2,), (3,)]
    rebuilt = arguments.rebuild([f"array{i}" for i in range(2)])
    assert rebuilt == ({"how": "mean", "x": "array0"}, ["array1", None, 4])


def test_arrays_are_described_by_type_and_the_rest_by_value():
    assert _signature.describe(np.zeros((2, 3), "int8")) == "int8[2,3]"
    assert _signature.describe(jnp.asarray(1.0)) == "weakly typed float32[]"
    assert _signature.describe("text") == "'text'"


def test_functions_that_read_another_value_of_a_name_differ(monkeypatch):
    def key():
        return _signature.static_key(lambda x: reader(x))

    before = key()
    assert before == key()
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert key() != before
    monkeypatch.undo()
    assert key() == before


def test_functions_that_call_one_another_have_a_key():
    assert _signature.static_key(even) == _signature.static_key(even)
    assert _signature.static_key(even) != _signature.static_key(odd)


def test_a_method_differs_where_it_reads_another_value_of_its_object():
    scaling = Scaling(2.0)
    before = _signature.static_key(scaling.scaled)
    assert before == _signature.static_key(scaling.scaled)
    scaling.factor = 3.0
    assert _signature.static_key(scaling.scaled) != before
    # What it does not read, or sets itself, is no part of it.
    before = _signature.static_key(scaling.scaled)
    scaling.other, scaling.calls = 1, 1
    assert _signature.static_key(scaling.scaled) == before
