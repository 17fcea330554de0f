"""How the steps of a dataset become blocks of arrays, and where a pass is."""

import jax
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import PerReplica
from stratax.distribute.input import GlobalBatches, ReplicaBatches, Share
from stratax.distribute.input._readers import Block, ElementReader, Kind, batch_size, parts_of


def rows(count, batch):
    return sx.data.Dataset.range(count).batch(batch)


def blocks(source, count=8, place=None):
    reader, found = source.open(place), []
    while True:
        try:
            found.append(reader.next_block(count))
        except StopIteration:
            reader.close()
            return found


def test_a_share_is_as_many_things_for_every_process():
    assert [Share(processes=2, index=i).of(6) for i in range(2)] == [slice(0, 3), slice(3, 6)]
    assert Share().of(4) == slice(0, 4)


def test_batches_that_divide_are_spread_and_the_last_one_comes_whole():
    first, last = blocks(GlobalBatches(rows(11, 4), 2))
    assert (first.kind, first.count, first.leaves[0].shape) == (Kind.SPREAD, 2, (2, 2, 2))
    assert first.leaves[0][0].tolist() == [[0, 1], [2, 3]]
    assert (last.kind, last.leaves[0].tolist()) == (Kind.SOLO, [[8, 9, 10]])


def test_one_replica_gets_plain_batches():
    (block, rest) = blocks(GlobalBatches(rows(5, 2), 1))
    assert block.kind is rest.kind is Kind.PLAIN
    assert block.leaves[0].tolist() == [[0, 1], [2, 3]]


def test_a_process_reads_the_part_of_its_replicas():
    (block,) = blocks(GlobalBatches(rows(8, 8), 4, Share(processes=2, index=1)))
    assert block.leaves[0].tolist() == [[[4, 5], [6, 7]]]
    assert block.shape_of(block.leaves[0].shape[1:]) == (4, 2)


def test_batches_of_replicas_take_one_for_each_and_what_is_left_comes_whole():
    source = ReplicaBatches(rows(10, 2), 2)
    assert source.cardinality() == 3
    first, last = blocks(source)
    assert first.leaves[0].tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert (last.kind, last.leaves[0].tolist()) == (Kind.SOLO, [[8, 9]])


def test_a_pass_goes_on_from_its_place():
    for source in (GlobalBatches(rows(12, 4), 2), ReplicaBatches(rows(12, 2), 2)):
        reader = source.open()
        reader.next_block(1)
        (rest,) = blocks(source, place=reader.place())
        assert rest.leaves[0].reshape(-1).tolist() == list(range(4, 12))


def test_a_place_of_batches_for_two_replicas_serves_three():
    source = ReplicaBatches(rows(14, 1), 3)
    place, steps = source.behind({"elements": ElementReader(rows(14, 1)).place(), "used": 1}, 2, 2)
    assert steps == 0
    assert place["used"] == 5
    assert blocks(source, place=place)[0].leaves[0].reshape(-1).tolist() == list(range(5, 14))


def test_blocks_are_cut_and_put_into_structures():
    structure = jax.tree.structure({"x": 0})
    block = Block([np.arange(12).reshape(3, 2, 2)], structure, 3, Kind.SPREAD, before={"at": 0})
    part = block.part(1, 3)
    assert (part.count, part.before, block.part(0, 1).before) == (2, None, {"at": 0})
    assert part.key() == block.key()
    wrapped = block.wrap(block.leaves)["x"]
    assert isinstance(wrapped, PerReplica)
    assert not wrapped.solo
    assert Block([np.zeros((1, 3))], structure, 1, Kind.SOLO).wrap([np.zeros(3)])["x"].solo


def test_the_elements_of_an_iterable_are_stacked_as_long_as_they_have_one_shape():
    reader = ElementReader([np.zeros(2), np.zeros(2), np.zeros(3)])
    assert [reader.next_elements(8)[2] for _ in range(2)] == [2, 1]
    with pytest.raises(StopIteration):
        reader.next_elements(8)


def test_elements_before_a_failure_are_not_lost():
    def failing():
        yield np.zeros(2)
        raise KeyError("source")

    reader = ElementReader(failing())
    assert reader.next_elements(8)[2] == 1
    with pytest.raises(KeyError, match="source"):
        reader.next_elements(8)


def test_an_iterable_that_can_not_be_put_back_has_no_place():
    with pytest.raises(errors.DataError, match=r"can't be put back.*an iterator of type list_iterator"):
        ElementReader([np.zeros(2)]).place()


def test_a_structure_that_changes_is_refused():
    reader = ElementReader([(np.zeros(2),), [np.zeros(2)]])
    reader.next_elements(1)
    with pytest.raises(errors.DataError, match=r"structure of a dataset's elements changed"):
        reader.next_elements(1)


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
