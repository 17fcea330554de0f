"""Elements that are prepared before they become steps, to arrays whose widths differ."""

import jax
import numpy as np
import pytest

from stratax import errors
from stratax.data import Dataset
from stratax.distribute import input
from stratax.distribute.input import GlobalBatches, Padded, PreparedDataset, ReplicaBatches
from stratax.distribute.input._steps import StepKind
from tests.distribute.input.test_own_batches import together

# A number says how often it comes: rows of such widths.
COUNTS = [1, 2, 1, 3, 1, 1, 2]


def repeated(leaves, count, treedef):
    """Each row's number as often as it says, behind that -1."""
    (numbers,) = leaves
    places = np.arange(numbers.max())
    cells = np.where(places < numbers[:, :, None], numbers[:, :, None], -1).astype(np.int32)
    return jax.tree.flatten({"cells": Padded(cells, -1), "n": numbers})


def prepared(counts, batch=1):
    found = PreparedDataset(Dataset.from_tensor_slices(np.array(counts, np.int32)).batch(batch))
    if counts:
        found.prepare_by(repeated, np.ones(1, np.int32))
    return found


def steps_of(cursor):
    found = []
    while True:
        try:
            found.append(cursor.read(1))
        except StopIteration:
            return found


def check_rows(steps, counts):
    seen = []
    for step in steps:
        cells, numbers = step.leaves
        if step.kind is StepKind.SPREAD:
            cells, numbers = cells.reshape(-1, cells.shape[-1]), numbers.reshape(-1)
        else:
            cells, numbers = cells[0], numbers[0]
        for row, number in zip(cells.tolist(), numbers.tolist(), strict=True):
            assert row == [number] * number + [-1] * (len(row) - number)
            seen.append(number)
    assert seen == counts


def test_elements_of_replicas_are_filled_up_to_the_widest_so_far():
    # Elements of a generator come one by one.
    elements = np.array(COUNTS, np.int32)[:, None]
    found = PreparedDataset(Dataset.from_generator(lambda: iter(elements), "int32", (1,)))
    found.prepare_by(repeated, np.ones(1, np.int32))
    steps = steps_of(ReplicaBatches(found, 2).open())
    check_rows(steps, COUNTS)
    # The last step has one example, which does not divide.
    assert [step.kind for step in steps] == [StepKind.SPREAD] * 3 + [StepKind.SOLO]
    assert [step.leaves[0].shape[-1] for step in steps] == [2, 3, 3, 3]


def test_a_remainder_of_several_elements_is_filled_up_too():
    steps = steps_of(ReplicaBatches(prepared([1, 1, 1, 3]), 3).open())
    check_rows(steps, [1, 1, 1, 3])
    steps = steps_of(ReplicaBatches(prepared([1, 1, 1, 1, 3]), 3).open())
    check_rows(steps, [1, 1, 1, 1, 3])


def test_global_batches_are_prepared_whole():
    steps = steps_of(GlobalBatches(prepared(COUNTS, batch=4), 2).open())
    check_rows(steps, COUNTS)
    assert [step.kind for step in steps] == [StepKind.SPREAD, StepKind.SOLO]


def test_the_first_element_is_looked_at_before_anything_is_prepared():
    found = PreparedDataset(Dataset.from_tensor_slices(np.array([5, 6, 7])).batch(1))
    cursor = ReplicaBatches(found, 1).open()
    state = cursor.get_state()
    assert found.first().tolist() == found.first().tolist() == [5]
    assert cursor.get_state() == state
    found.prepare_by(repeated, found.first())
    steps = [cursor.read(1)]
    behind = cursor.get_state()
    check_rows(steps + steps_of(cursor), [5, 6, 7])
    check_rows(steps_of(ReplicaBatches(found, 1).open(behind)), [6, 7])


def test_what_was_looked_at_can_be_passed_over():
    found = prepared([1, 2, 3])
    cursor = ReplicaBatches(found, 1).open()
    found.first()
    assert cursor.skip(2) == 2
    check_rows(steps_of(cursor), [3])


def test_elements_that_nothing_prepares_stay_as_they_are():
    found = PreparedDataset(Dataset.from_tensor_slices(np.array([5, 6])).batch(1))
    cursor = ReplicaBatches(found, 1).open()
    assert found.first().tolist() == [5]
    assert [step.leaves[0].tolist() for step in steps_of(cursor)] == [[[5]], [[6]]]


def test_an_element_that_fails_fails_for_who_looks_and_for_who_reads():
    def fail(number):
        raise ValueError("broken")

    found = PreparedDataset(Dataset.range(3).map(fail).batch(1))
    cursor = ReplicaBatches(found, 1).open()
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            found.first()
    with pytest.raises(ValueError, match="broken"):
        cursor.read(1)


def test_an_empty_dataset_has_no_first_element():
    found = prepared([])
    ReplicaBatches(found, 1).open()
    with pytest.raises(StopIteration):
        found.first()
    with pytest.raises(errors.DataError, match="No pass over the dataset was opened"):
        prepared([1]).first()


def test_elements_of_another_structure_are_refused():
    found = prepared([1, 2])
    found._treedef = jax.tree.structure([0])
    with pytest.raises(errors.DataError, match="structure of a dataset's elements changed"):
        ReplicaBatches(found, 1).open().read(1)


@pytest.mark.parametrize("counts", [([1, 1, 3, 1], [2, 1, 1, 1]), ([1, 2, 3, 1, 2], [2]), ([1, 2], [])])
def test_workers_take_steps_of_one_width(counts):
    datasets = [prepared(own) for own in counts]
    if not counts[1]:
        datasets[1].prepare_by(repeated, np.ones(1, np.int32))
    found = together(input.own_replica_batches, datasets)
    assert len(found[0]) == len(found[1])
    seen = []
    for parts in zip(*found, strict=True):
        assert len({part[1][0].shape[1:] for part in parts}) == 1
        for is_spread, (cells, numbers), _ in parts if parts[0][0] else parts[:1]:
            assert is_spread == parts[0][0]
            for row, number in zip(cells.tolist(), numbers.tolist(), strict=True):
                assert row == [number] * number + [-1] * (len(row) - number)
            seen += numbers.tolist()
    assert sorted(seen) == sorted([*counts[0], *counts[1]])
