"""Index arithmetic: every chain of operations is what lists would give, and its position is a number."""

import collections
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import INFINITE_CARDINALITY, Dataset
from stratax.errors import BadTypeError, DataError
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


@settings(max_examples=60, deadline=None)
@given(
    st.permutations(["shuffle", "shard", "repeat", "map"]),
    st.integers(1, 30),
    st.integers(1, 4),
    st.integers(0, 9),
)
def test_shards_are_a_partition_in_any_order_of_shuffle_and_shard(order, n, workers, seed):
    found = collections.Counter()
    for worker in range(workers):
        arguments = {"shuffle": (seed,), "shard": (workers, worker), "repeat": (2,), "map": ()}
        chain = [(name, *arguments[name]) for name in order]
        found.update(as_lists(apply_chain(Dataset.range(n), chain)))
    assert found == collections.Counter({2 * i + 1: 2 for i in range(n)})


def test_shuffle_is_a_permutation_whatever_the_buffer():
    dataset = Dataset.range(100).shuffle(2, seed=3)
    assert sorted(as_lists(dataset)) == list(range(100))
    moved = sum(abs(a - b) > 20 for a, b in enumerate(as_lists(dataset)))
    assert moved > 20


def test_a_buffer_of_one_does_not_shuffle():
    assert as_lists(Dataset.range(5).shuffle(1)) == [0, 1, 2, 3, 4]


def test_shuffle_without_reshuffling_keeps_its_order_in_all_passes():
    dataset = Dataset.range(20).shuffle(20, seed=1, reshuffle_each_iteration=False)
    first = as_lists(dataset)
    assert as_lists(dataset) == first
    assert as_lists(dataset.repeat(2)) == first * 2


def test_shuffle_reshuffles_in_every_pass_of_repeat():
    found = as_lists(Dataset.range(20).shuffle(20, seed=1).repeat(3))
    passes = [found[i : i + 20] for i in range(0, 60, 20)]
    assert all(sorted(one) == list(range(20)) for one in passes)
    assert passes[0] != passes[1] != passes[2]


def test_shuffle_without_a_seed_follows_pythons_random():
    random.seed(7)
    first = as_lists(Dataset.range(20).shuffle(20))
    random.seed(7)
    assert as_lists(Dataset.range(20).shuffle(20)) == first
    assert as_lists(Dataset.range(20).shuffle(20)) != first


def test_shuffle_after_an_endless_repeat_permutes_each_pass():
    found = as_lists(Dataset.range(10).repeat().shuffle(3, seed=0).take(30))
    assert [sorted(found[i : i + 10]) for i in (0, 10, 20)] == [list(range(10))] * 3


def test_shuffle_of_another_endless_dataset_permutes_blocks():
    endless = Dataset.range(10).repeat().map(lambda x: x + 1)
    found = as_lists(endless.shuffle(20, seed=0).take(40))
    assert sorted(found[:20]) == sorted(list(range(1, 11)) * 2) == sorted(found[20:])
    assert found[:20] != found[20:]


def test_a_shuffle_shared_by_two_branches_keeps_them_aligned():
    shuffled = Dataset.range(50).shuffle(50, seed=2)
    pairs = Dataset.zip(shuffled, shuffled.map(lambda x: -x))
    assert all(a == -b for a, b in pairs)


def test_repeat_counts_like_tensorflow():
    assert Dataset.range(3).repeat().cardinality() == INFINITE_CARDINALITY
    assert Dataset.range(3).repeat(-1).cardinality() == INFINITE_CARDINALITY
    assert as_lists(Dataset.range(3).repeat(0)) == []
    assert as_lists(Dataset.range(0).repeat()) == []


def test_take_and_skip_count_like_tensorflow():
    assert as_lists(Dataset.range(4).take(-1)) == [0, 1, 2, 3]
    assert as_lists(Dataset.range(4).skip(-1)) == []
    assert as_lists(Dataset.range(4).repeat().skip(2).take(4)) == [2, 3, 0, 1]


def test_zip_is_as_long_as_the_shortest_and_takes_structures():
    a, b = Dataset.range(3), Dataset.range(10, 15)
    assert [tuple(map(int, pair)) for pair in Dataset.zip(a, b)] == [(0, 10), (1, 11), (2, 12)]
    assert list(Dataset.zip((a, b))) == list(Dataset.zip(a, b))
    assert list(Dataset.zip(datasets=(a, b))) == list(Dataset.zip(a, b))
    nested = Dataset.zip({"x": a, "y": (b, a)})
    assert next(iter(nested)) == {"x": 0, "y": (10, 0)}
    assert len(nested) == 3
    assert Dataset.zip(a.repeat(), b.repeat()).cardinality() == INFINITE_CARDINALITY


def test_zipped_batches_stack_in_blocks():
    a = Dataset.range(7).batch(3)
    both = iter(Dataset.zip(a, a.map(lambda x: x * 2)))
    (x, y), count = both.next_block(5)
    assert count == 2
    assert x.shape == y.shape == (2, 3)
    (x, _), count = both.next_block(5)
    assert (count, x.tolist()) == (1, [[6]])


def test_concatenate_goes_on_with_the_second():
    both = Dataset.range(3).concatenate(Dataset.range(10, 13))
    assert as_lists(both) == [0, 1, 2, 10, 11, 12]
    assert as_lists(both.batch(4)) == [[0, 1, 2, 10], [11, 12]]
    assert sorted(as_lists(both.shuffle(9, seed=1))) == [0, 1, 2, 10, 11, 12]
    assert as_lists(both.shard(2, 1)) == [1, 10, 12]


def test_concatenated_shapes_may_differ_in_size():
    both = Dataset.from_tensors(np.zeros(2)).repeat(3).concatenate(Dataset.from_tensors(np.ones(3)))
    assert both.element_spec.shape == (None,)
    iterator = iter(both)
    stacked, count = iterator.next_block(10)
    assert (count, stacked.shape) == (3, (3, 2))
    assert iterator.next_block(10)[1] == 1
    with pytest.raises(DataError, match="components of one shape"):
        list(both.batch(4))


def test_concatenating_functions_called_one_by_one_keeps_the_order():
    seen = []
    dataset = Dataset.range(3).map(lambda x: seen.append(int(x)) or x)
    both = dataset.concatenate(Dataset.range(5, 7)).batch(4)
    assert as_lists(both) == [[0, 1, 2, 5], [6]]


def test_concatenate_refuses_another_structure():
    with pytest.raises(DataError, match="same structure and dtypes"):
        Dataset.range(3).concatenate(Dataset.from_tensors((1, 2)))
    opaque = Dataset.range(3).map(lambda x: (x, str(x)))
    with pytest.raises(DataError, match="same structure and dtypes"):
        iter(opaque.concatenate(Dataset.range(2)))


def test_concatenate_and_zip_refuse_what_is_no_dataset():
    with pytest.raises(BadTypeError, match="concatenate needs a Dataset"):
        Dataset.range(3).concatenate([1, 2])
    with pytest.raises(BadTypeError, match="zip needs a Dataset"):
        Dataset.zip(Dataset.range(3), 5)
    with pytest.raises(BadTypeError, match="zip takes Datasets"):
        Dataset.zip()
    with pytest.raises(DataError, match="at least one Dataset"):
        Dataset.zip(())


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


def test_a_buffered_shuffle_reorders_within_its_buffer():
    stream = Dataset.range(100).filter(lambda x: x >= 0)
    found = as_lists(stream.shuffle(5, seed=1))
    assert sorted(found) == list(range(100))
    assert found != list(range(100))
    assert all(place >= item - 5 for place, item in enumerate(found))
    assert found == as_lists(stream.shuffle(5, seed=1))
    twice = as_lists(stream.shuffle(5, seed=1).repeat(2))
    assert sorted(twice[:100]) == list(range(100))
    assert twice[:100] != twice[100:]


def test_a_stream_has_no_positions():
    node = Dataset.range(3).filter(lambda x: x > 0)._node
    with pytest.raises(NotImplementedError, match="Filter can only be iterated"):
        node.gather(np.array([0]), 0, None)
