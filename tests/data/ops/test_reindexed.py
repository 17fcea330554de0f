"""Index arithmetic: every chain of operations is what lists would give, and its position is a number."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import INFINITE_CARDINALITY, Dataset
from stratax.errors import DataError
from tests.data.reference import apply_chain, as_lists, model

counts = st.integers(0, 12)


flat_ops = st.one_of(
    st.tuples(st.just("take"), counts),
    st.tuples(st.just("skip"), counts),
    st.integers(1, 4).flatmap(lambda n: st.tuples(st.just("shard"), st.just(n), st.integers(0, n - 1))),
    st.tuples(st.just("repeat"), st.integers(0, 3)),
    st.tuples(st.just("shuffle"), st.integers(0, 99)),
    st.tuples(st.just("map")),
)


batches = st.tuples(st.just("batch"), st.integers(1, 5), st.booleans())


chains = st.tuples(
    st.lists(flat_ops, max_size=4), st.lists(batches, max_size=1), st.lists(flat_ops, max_size=3)
).map(lambda parts: [op for part in parts for op in part])


@settings(max_examples=200, deadline=None)
@given(chains, st.integers(0, 20))
def test_a_chain_of_operations_gives_what_lists_give(chain, n):
    dataset = apply_chain(Dataset.range(n), chain)
    expected = model(chain, n)
    assert as_lists(dataset) == expected
    assert dataset.cardinality() == len(expected)


@settings(max_examples=100, deadline=None)
@given(chains, st.integers(0, 20))
def test_a_second_iteration_is_that_of_the_next_epoch(chain, n):
    dataset = apply_chain(Dataset.range(n), chain)
    list(dataset)
    assert as_lists(dataset) == model(chain, n, iteration=1)


@settings(max_examples=100, deadline=None)
@given(chains, st.integers(0, 20), st.integers(0, 30))
def test_a_restored_iterator_gives_the_same_rest(chain, n, stop):
    iterator = iter(apply_chain(Dataset.range(n), chain))
    for _ in range(stop):
        next(iterator, None)
    state = json.loads(json.dumps(iterator.get_state()))
    rest = as_lists(iterator)
    restored = iter(apply_chain(Dataset.range(n), chain))
    next(restored, None)
    restored.set_state(state)
    assert as_lists(restored) == rest


@settings(max_examples=100, deadline=None)
@given(chains, st.integers(0, 20), st.integers(1, 7))
def test_blocks_hold_the_same_elements_as_single_steps(chain, n, size):
    iterator = iter(apply_chain(Dataset.range(n), chain))
    found = []
    while True:
        try:
            stacked, count = iterator.next_block(size)
        except StopIteration:
            break
        assert 1 <= count <= size
        assert len(stacked) == count
        found.extend(stacked.tolist())
    assert found == model(chain, n)


def test_repeat_counts_like_tensorflow():
    assert Dataset.range(3).repeat().cardinality() == INFINITE_CARDINALITY
    assert Dataset.range(3).repeat(-1).cardinality() == INFINITE_CARDINALITY
    assert as_lists(Dataset.range(3).repeat(0)) == []
    assert as_lists(Dataset.range(0).repeat()) == []


def test_operations_over_a_stream_are_what_lists_give():
    stream = Dataset.range(10).filter(lambda x: x >= 0)
    assert not stream.is_indexable
    assert as_lists(stream.take(3)) == [0, 1, 2]
    assert as_lists(stream.take(-1)) == list(range(10))
    assert as_lists(stream.skip(7)) == [7, 8, 9]
    assert as_lists(stream.skip(-1)) == []
    assert as_lists(stream.shard(3, 1)) == [1, 4, 7]
    assert as_lists(stream.repeat(2)) == list(range(10)) * 2
    assert as_lists(stream.filter(lambda x: x < 0).repeat()) == []
    assert as_lists(stream.batch(4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert as_lists(stream.batch(4, drop_remainder=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert as_lists(stream.concatenate(stream)) == list(range(10)) * 2
    assert [int(a + b) for a, b in Dataset.zip(stream, stream)] == list(range(0, 20, 2))
    assert [int(i) for i, _ in stream.enumerate()] == list(range(10))


def test_a_stream_has_no_positions():
    node = Dataset.range(3).filter(lambda x: x > 0)._node
    with pytest.raises(NotImplementedError, match="Filter can only be iterated"):
        node.gather(np.array([0]), 0, None)


def _passes(*sizes):
    """Return a Dataset whose passes have so many elements."""
    remaining = iter(sizes)
    return Dataset.from_generator(lambda: range(next(remaining)), "int64", [])


def test_an_endless_repeat_ends_with_an_empty_pass_unless_it_is_shuffled():
    assert as_lists(_passes(1, 0, 2, 9).repeat()) == [0]
    assert as_lists(_passes(0, 2, 9).shuffle(10).repeat()) == []
    # As TensorFlow, which makes one operation of the two.
    assert sorted(as_lists(_passes(1, 0, 2, 9).shuffle(10).repeat().take(3))) == [0, 0, 1]
    assert sorted(as_lists(_passes(0, 2, 0, 1).shuffle(10).repeat(4))) == [0, 0, 1]


def test_a_shuffled_source_that_has_ended_for_good_is_no_endless_wait():
    numbers = iter(range(3))
    used_up = Dataset.from_generator(lambda: numbers, "int64", []).shuffle(10).repeat()
    with pytest.raises(DataError, match="passes without an element, one after another"):
        list(used_up)
