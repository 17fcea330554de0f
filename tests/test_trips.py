"""The table of trips counts the library's own calls, and no others."""

import pytest

import stratax as sx
from tools.trips import Counter, trips


def test_own_calls_are_counted_and_those_of_others_are_not(tmp_path):
    iterator = iter(sx.Dataset.range(8))
    next(iterator)
    with Counter() as counter:
        next(iterator)
        sorted([3, 1], key=lambda value: value)
    calls, functions, files, depth, crossings = counter.row()
    assert calls >= functions >= files >= 1
    assert 1 <= depth <= calls
    assert crossings == 0
    assert all("stratax" in name for name, _ in counter.calls)


@pytest.mark.stress
def test_a_trip_can_be_walked_again(tmp_path):
    walk = trips(str(tmp_path))["next() of an in-memory Dataset"]()
    walk()
    walk()
