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


# Numbers may only fall.
@pytest.mark.parametrize(
    ("trip", "calls", "files"),
    [
        ("tf.add of two arrays", 3, 2),
        ("strategy.run", 49, 17),
        ("fit, 8 steps, arrays", 830, 66),
        ("Checkpoint.save", 640, 26),
        ("Checkpoint.restore", 700, 24),
    ],
)
def test_a_trip_grows_no_longer(tmp_path, trip, calls, files):
    walk = trips(str(tmp_path))[trip]()
    walk()
    with Counter() as counter:
        walk()
    found = counter.row()
    assert found[0] <= calls, sorted(counter.calls.items())
    assert found[2] <= files, sorted({name for name, _ in counter.calls})


@pytest.mark.stress
def test_a_trip_can_be_walked_again(tmp_path):
    walk = trips(str(tmp_path))["next() of an in-memory Dataset"]()
    walk()
    walk()
