"""Sparse and ragged components in distributed datasets."""

import json

import jax
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.data import Dataset, RaggedTensor, SparseTensor
from stratax.distribute.input import GlobalBatches, ReplicaBatches, SharedGlobalBatches, WholeBatches
from stratax.distribute.input._steps import StepKind, has_composites
from stratax.distribute.replicas import Share

EQUAL = [[1, 2], [3], [4], [5, 6]]
UNEQUAL = [[1, 2], [3, 4], [], [5]]


def ragged(rows, batch):
    lengths = [len(row) for row in rows]
    values = np.array([value for row in rows for value in row], np.int32)
    return Dataset.from_tensor_slices(
        (RaggedTensor.from_row_lengths(values, lengths), np.arange(len(rows)))
    ).batch(batch)


def sparse(count, batch):
    places = np.stack([np.arange(count), np.arange(count) % 3], axis=1)
    return Dataset.from_tensor_slices(SparseTensor(places, np.arange(count) + 1, np.array([count, 3]))).batch(
        batch
    )


def steps(source, position=None):
    cursor, found = source.open(position), []
    while True:
        try:
            found.append(cursor.read(8))
        except StopIteration:
            cursor.close()
            return found


def values(step):
    """The components of each replica's part of the only step of a block."""
    assert step.count == 1
    parts = range(step.leaves[0].shape[1]) if step.kind is StepKind.SPREAD else [None]
    trees = [
        jax.tree.unflatten(step.treedef, [leaf[0] if part is None else leaf[0, part] for leaf in step.leaves])
        for part in parts
    ]
    return [jax.tree.map(plain, tree, is_leaf=lambda leaf: hasattr(leaf, "spec")) for tree in trees]


def plain(leaf):
    if isinstance(leaf, RaggedTensor):
        return leaf.to_list()
    return sx.data.sparse_to_dense(leaf).tolist() if isinstance(leaf, SparseTensor) else leaf.tolist()


def test_a_batch_is_divided_where_the_parts_are_equally_long():
    (step,) = steps(GlobalBatches(ragged(EQUAL, 4), 2))
    assert step.kind is StepKind.SPREAD
    assert has_composites(step.treedef)
    assert values(step) == [([[1, 2], [3]], [0, 1]), ([[4], [5, 6]], [2, 3])]


def test_a_batch_whose_parts_are_of_several_lengths_or_that_does_not_divide_comes_whole():
    (step,) = steps(GlobalBatches(ragged(UNEQUAL, 4), 2))
    assert (step.kind, values(step)) == (StepKind.SOLO, [(UNEQUAL, [0, 1, 2, 3])])
    first, last = steps(GlobalBatches(sparse(5, 4), 2))
    assert values(first) == [[[1, 0, 0], [0, 2, 0]], [[0, 0, 3], [4, 0, 0]]]
    assert (last.kind, values(last)) == (StepKind.SOLO, [[[0, 5, 0]]])


def test_one_replica_gets_all():
    (step,) = steps(GlobalBatches(ragged(UNEQUAL, 4), 1))
    assert (step.kind, values(step)) == (StepKind.PLAIN, [(UNEQUAL, [0, 1, 2, 3])])


def test_a_batch_without_a_value_is_no_empty_batch():
    (step,) = steps(GlobalBatches(ragged([[], []], 2), 1))
    assert values(step) == [([[], []], [0, 1])]


def test_a_process_reads_the_part_of_its_replicas():
    (step,) = steps(SharedGlobalBatches(ragged(EQUAL, 4), 2, Share(processes=2, index=1)))
    assert values(step) == [([[4], [5, 6]], [2, 3])]


def test_batches_of_replicas_take_one_for_each():
    first, last = steps(ReplicaBatches(sparse(5, 2), 2))
    assert values(first) == [[[1, 0, 0], [0, 2, 0]], [[0, 0, 3], [4, 0, 0]]]
    assert (last.kind, values(last)) == (StepKind.SOLO, [[[0, 5, 0]]])
    (step,) = steps(ReplicaBatches(ragged(UNEQUAL, 2), 2))
    assert (step.kind, values(step)) == (StepKind.SOLO, [(UNEQUAL, [0, 1, 2, 3])])
    found = steps(WholeBatches(ragged(UNEQUAL, 2), 2))
    assert [(step.kind, values(step)) for step in found] == [
        (StepKind.SOLO, [(UNEQUAL[:2], [0, 1])]),
        (StepKind.SOLO, [(UNEQUAL[2:], [2, 3])]),
    ]


def test_a_list_of_batches_is_divided_alike():
    batch = SparseTensor(np.array([[0, 1], [1, 0]]), np.array([5, 6]), np.array([2, 2]))
    (step,) = steps(GlobalBatches([batch], 2))
    assert values(step) == [[[0, 5]], [[6, 0]]]


def test_components_may_become_arrays_before():
    source = GlobalBatches(ragged(UNEQUAL, 4), 2)
    source.convert_composites(lambda rows: rows.to_tensor())
    (step,) = steps(source)
    assert values(step) == [([[1, 2], [3, 4]], [0, 1]), ([[0, 0], [5, 0]], [2, 3])]


def test_components_need_one_first_dimension():
    dataset = Dataset.zip((sparse(4, 2), Dataset.range(9).batch(3)))
    with pytest.raises(errors.DataError, match="must be batches"):
        steps(GlobalBatches(dataset, 2))


def test_replicas_compute_with_their_parts_and_a_position_goes_on():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    distributed = strategy.experimental_distribute_dataset(sparse(7, 2))

    def totals(iterator):
        found = []
        for batch in iterator:
            part = strategy.run(lambda one: one.values.sum(), args=(batch,))
            found.append(int(strategy.reduce("SUM", part, axis=None)))
        return found

    iterator = iter(distributed)
    next(iterator)
    state = json.loads(json.dumps(iterator.get_state()))
    assert totals(iterator) == [7, 11, 7]
    restored = iter(distributed)
    restored.set_state(state)
    assert totals(restored) == [7, 11, 7]
