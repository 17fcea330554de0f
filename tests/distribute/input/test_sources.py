"""How the steps of a dataset become blocks of arrays, and where a pass is."""

import collections

import jax
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import PerReplica
from stratax.distribute.input import GlobalBatches, ReplicaBatches, SharedGlobalBatches, WholeBatches
from stratax.distribute.input._elements import open_elements
from stratax.distribute.input._sources import parts_of
from stratax.distribute.input._steps import StepKind, Steps, as_elements, batch_size
from stratax.distribute.replicas import Share


def rows(count, batch):
    return sx.data.Dataset.range(count).batch(batch)


def blocks(source, count=8, position=None):
    """The blocks of all steps; those of a streaming plan come one by one."""
    cursor, found = source.open(position), []
    while True:
        try:
            found.append(cursor.read(count))
        except StopIteration:
            cursor.close()
            return found


def test_batches_that_divide_are_spread_and_the_last_one_comes_whole():
    first, last = blocks(GlobalBatches(rows(11, 4), 2))
    assert (first.kind, first.count, first.leaves[0].shape) == (StepKind.SPREAD, 2, (2, 2, 2))
    assert first.leaves[0][0].tolist() == [[0, 1], [2, 3]]
    assert (last.kind, last.leaves[0].tolist()) == (StepKind.SOLO, [[8, 9, 10]])


def test_one_replica_gets_plain_batches():
    (block, rest) = blocks(GlobalBatches(rows(5, 2), 1))
    assert block.kind is rest.kind is StepKind.PLAIN
    assert block.leaves[0].tolist() == [[0, 1], [2, 3]]


def test_a_process_reads_the_part_of_its_replicas():
    share = Share(processes=2, index=1)
    (block,) = blocks(SharedGlobalBatches(rows(8, 8), 4, share))
    assert block.leaves[0].tolist() == [[[4, 5], [6, 7]]]


def test_batches_of_replicas_take_one_for_each_and_what_is_left_comes_whole():
    source = ReplicaBatches(rows(10, 2), 2)
    assert source.cardinality() == 3
    first, last = blocks(source)
    assert first.leaves[0].tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert (last.kind, last.leaves[0].tolist()) == (StepKind.SOLO, [[8, 9]])


def test_whole_batches_are_not_joined_where_there_are_too_few():
    source = WholeBatches(rows(11, 2), 4)
    assert source.cardinality() == -2
    found = blocks(source)
    assert [(step.kind, step.leaves[0].tolist()) for step in found] == [
        (StepKind.SPREAD, [[[0, 1], [2, 3], [4, 5], [6, 7]]]),
        (StepKind.SOLO, [[8, 9]]),
        (StepKind.SOLO, [[10]]),
    ]


def test_a_pass_goes_on_from_its_place():
    for source in (
        GlobalBatches(rows(12, 4), 2),
        ReplicaBatches(rows(12, 2), 2),
        WholeBatches(rows(12, 2), 2),
    ):
        cursor = source.open()
        cursor.read(1)
        (rest,) = blocks(source, position=cursor.get_state())
        assert rest.leaves[0].reshape(-1).tolist() == list(range(4, 12))


def test_a_place_of_batches_for_two_replicas_serves_three():
    source = ReplicaBatches(rows(14, 1), 3)
    elements = open_elements(rows(14, 1), as_elements).get_state()
    place, steps = source.behind({"elements": elements, "used": 1}, 2, 2)
    assert steps == 0
    assert place["used"] == 5
    assert blocks(source, position=place)[0].leaves[0].reshape(-1).tolist() == list(range(5, 14))


def test_blocks_are_cut_and_put_into_structures():
    structure = jax.tree.structure({"x": 0})
    block = Steps([np.arange(12).reshape(3, 2, 2)], 3, structure, StepKind.SPREAD)
    part = block.slice(1, 3)
    assert (part.count, part.kind, part.leaves[0].tolist()) == (
        2,
        StepKind.SPREAD,
        block.leaves[0][1:].tolist(),
    )
    wrapped = block.wrap(block.leaves)["x"]
    assert isinstance(wrapped, PerReplica)
    assert not wrapped.solo
    assert Steps([np.zeros((1, 3))], 1, structure, StepKind.SOLO).wrap([np.zeros(3)])["x"].solo


@pytest.mark.parametrize("fail_at", range(5))
def test_elements_for_some_replicas_before_a_failure_are_not_lost(fail_at):
    def failing():
        for index in range(5):
            if index == fail_at:
                raise KeyError("source")
            yield np.full(2, index)

    seen, cursor = [], ReplicaBatches(failing(), 3).open()
    with pytest.raises(KeyError, match="source"):
        collections.deque((seen.extend(cursor.read(1).leaves[0].ravel()) for _ in range(9)), maxlen=0)
    assert seen == [index for index in range(fail_at) for _ in range(2)]


def test_the_components_of_a_dataset_come_in_the_order_of_jax():
    arrays = {"z": np.arange(4), "a": np.arange(4) + 10}
    (block,) = blocks(GlobalBatches(sx.data.Dataset.from_tensor_slices(arrays).batch(4), 1))
    assert {name: leaf.tolist() for name, leaf in block.wrap([leaf[0] for leaf in block.leaves]).items()} == {
        name: array.tolist() for name, array in arrays.items()
    }


@pytest.mark.parametrize("taken", range(7))
def test_a_prefetch_that_is_left_to_the_reader_changes_no_position(taken):
    def batches():
        return sx.data.Dataset.range(28).filter(lambda x: x >= 0).batch(4).prefetch(3)

    source = GlobalBatches(batches(), 2)
    cursor, iterator = source.open(), iter(batches())
    assert (cursor.depth, ReplicaBatches(batches(), 2).open().depth) == (3, 0)
    for _ in range(taken):
        cursor.read(1)
        next(iterator)
    # What a Dataset's own iterator saves can be gone on with, and the other way round.
    rest = [block.leaves[0].ravel().tolist() for block in blocks(source, position=iterator.get_state())]
    again = iter(batches())
    again.set_state(cursor.get_state())
    assert rest == [x.tolist() for x in again] == [list(range(4 * i, 4 * i + 4)) for i in range(taken, 7)]


@pytest.mark.parametrize(
    ("leaves", "message"),
    [
        ([np.zeros((1, 2)), np.zeros((1, 3))], r"arrays of shapes \(2,\), \(3,\)"),
        ([np.zeros(1)], r"arrays of shapes \(\)"),
        ([np.zeros((1, 0))], r"Received: an empty batch"),
    ],
)
def test_what_is_no_batch_is_refused(leaves, message):
    with pytest.raises(errors.DataError, match=message):
        batch_size(leaves, 1)


@pytest.mark.parametrize(
    "place", [{}, {"inner": {}}, {"inner": {}, "used": -1}, {"elements": {}, "used": 0}, 3]
)
def test_a_place_of_another_kind_is_refused(place):
    with pytest.raises(errors.DataError, match=r"distributed in another way.*Received: place="):
        parts_of(place, "inner")


def test_what_can_not_be_iterated_is_refused():
    with pytest.raises(errors.BadTypeError, match=r"can be iterated is expected.*Received: dataset=3"):
        GlobalBatches(3, 2)
