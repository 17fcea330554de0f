"""Workers that each read data of their own take their steps together; here each worker is a thread."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

from stratax import errors
from stratax.data import Dataset
from stratax.distribute.input import _own_batches
from stratax.distribute.input._steps import StepKind
from stratax.distribute.replicas import Share

SECONDS = 30.0


class Meeting:
    """Gives every worker the values of all, as the cluster does."""

    def __init__(self, workers):
        self._barrier = threading.Barrier(workers, timeout=SECONDS)
        self._values = {}

    def of(self, index):
        def exchange(name, value, stop):
            name = re.sub(
                r"^input/\d+", "input", name
            )  # The sources of all workers are counted in one process here.
            self._values.setdefault(name, {})[index] = value
            self._barrier.wait()
            return [text for _, text in sorted(self._values[name].items())]

        return exchange


def together(make, datasets, places=None, replicas=2):
    """What `make(dataset, ...)` of each worker gives: the rows of its steps, and its place after each."""
    workers = len(datasets)
    meeting = Meeting(workers)

    def run(index):
        source = make(datasets[index], replicas, Share(processes=workers, index=index), meeting.of(index))
        cursor = source.open(places[index] if places else None)
        steps = []
        while True:
            try:
                block = cursor.read(1)
            except StopIteration:
                return steps
            is_spread = block.kind is StepKind.SPREAD
            # A block may hold several steps: the place is that behind the last one.
            for step in range(block.count):
                rows = [
                    leaf[step].reshape(-1, *leaf.shape[3:]) if is_spread else leaf[step]
                    for leaf in block.leaves
                ]
                steps.append((is_spread, rows, cursor.get_state()))

    with ThreadPoolExecutor(workers) as pool:
        return [future.result(SECONDS) for future in [pool.submit(run, index) for index in range(workers)]]


def values_of(steps):
    """All rows of all workers; a step that does not divide is the same on each."""
    seen = []
    for parts in zip(*steps, strict=True):
        for is_spread, rows, _ in parts if parts[0][0] else parts[:1]:
            assert is_spread == parts[0][0]
            seen += rows[0].ravel().tolist()
    return seen


def numbers(start, count, dtype="float32"):
    return Dataset.from_tensor_slices(np.arange(start, start + count).astype(dtype)).batch(2)


def test_unequal_amounts_are_used_up_together():
    steps = together(_own_batches.own_replica_batches, [numbers(0, 11), numbers(100, 4)])
    assert sorted(values_of(steps)) == sorted([*map(float, range(11)), 100.0, 101.0, 102.0, 103.0])


def test_a_worker_without_data_gets_its_part_of_the_others():
    steps = together(_own_batches.own_replica_batches, [numbers(0, 8), numbers(0, 0)])
    assert sorted(values_of(steps)) == list(map(float, range(8)))
    assert all(len(rows[0]) == 1 for _, rows, _ in steps[1])


def test_the_dtype_of_exchanged_examples_is_kept():
    data = [numbers(0, 4, ml_dtypes.bfloat16), numbers(0, 2, ml_dtypes.bfloat16)]
    for steps in together(_own_batches.own_replica_batches, data):
        assert {rows[0].dtype for _, rows, _ in steps} == {np.dtype(ml_dtypes.bfloat16)}


def test_examples_of_several_shapes_can_not_be_one_batch():
    data = [Dataset.from_tensor_slices(np.zeros((4, width))).batch(1) for width in (2, 3)]
    with pytest.raises(errors.DataError, match=r"worker 0: float64\[2\]; worker 1: float64\[3\]"):
        together(_own_batches.own_replica_batches, data)


@pytest.mark.parametrize("taken", range(1, 6))
def test_workers_go_on_from_their_places(taken):
    make, data = _own_batches.own_replica_batches, [numbers(0, 11), numbers(100, 4)]
    whole = together(make, data)
    rest = together(make, data, [steps[taken - 1][2] for steps in whole])
    assert values_of(rest) == values_of([steps[taken:] for steps in whole])


def test_a_place_behind_the_end_of_a_workers_data_is_found():
    source = _own_batches.own_replica_batches(
        numbers(0, 4), 4, Share(processes=2), lambda name, value, stop: [value] * 2
    )
    assert source.elements_in_step == 2
    place, left = source.behind({"inner": {"elements": None, "used": 1}, "used": 3}, 2, 4)
    assert (place, left) == ({"inner": {"elements": None, "used": 21}, "used": 0}, 0)
