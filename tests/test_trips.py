"""The table of trips counts the library's own calls, and no others."""

import os
import subprocess
import sys

import pytest

import stratax as sx
from tools.trips import Counter, operations, trips


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


@pytest.fixture(scope="module")
def table():
    """The rows of the table by trip, of a process of its own: others change what is called here."""
    environment = {name: value for name, value in os.environ.items() if name != "STRATAX_SIMULATE"}
    arguments = [sys.executable, "-m", "tools.trips"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=300, check=True)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    return {name: [int(number) for number in numbers] for name, *numbers in rows}


# Numbers may only fall. Those of checkpoints differ by some from time to time: they are written by threads.
@pytest.mark.parametrize(
    ("trip", "calls", "files"),
    [
        ("tf.add of tensors", 2, 2),
        ("strategy.run", 39, 14),
        # One file more than before: making a Dataset asks whether a graph is recorded.
        ("fit, 8 steps, arrays", 732, 61),
        ("Checkpoint.save", 600, 28),
        ("Checkpoint.restore", 660, 24),
    ],
)
def test_a_trip_grows_no_longer(table, trip, calls, files):
    found = table[trip]
    assert found[0] <= calls
    assert found[2] <= files


@pytest.mark.parametrize("kind", ["tensors", "NumPy arrays"])
@pytest.mark.parametrize("name", sorted(operations(None, None, None)))
def test_an_operation_takes_few_calls(table, name, kind):
    assert 0 < table[f"tf.{name} of {kind}"][0] <= 20


@pytest.mark.stress
def test_a_trip_can_be_walked_again(tmp_path):
    walk = trips(str(tmp_path))["next() of an in-memory Dataset"]()
    walk()
    walk()
