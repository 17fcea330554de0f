"""`cache`: every element is made once, in memory, and comes out as it was."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from tests.data.reference import as_lists


def counted(seen):
    return Dataset.range(10).map(lambda x: seen.append(int(x)) or x * 2)


@pytest.mark.parametrize("order", ["cache, shuffle, batch", "batch, cache", "shuffle, cache, batch", "cache"])
def test_every_element_is_made_once(order):
    seen = []
    dataset = counted(seen)
    for step in order.split(", "):
        dataset = {
            "cache": dataset.cache,
            "shuffle": lambda d=dataset: d.shuffle(10, seed=1),
            "batch": lambda d=dataset: d.batch(4),
        }[step]()
    passes = [list(dataset) for _ in range(3)]
    assert sorted(seen) == list(range(10))
    for one in passes:
        assert sorted(np.hstack([np.atleast_1d(x) for x in one]).tolist()) == list(range(0, 20, 2))


def test_a_partial_pass_is_kept():
    seen = []
    dataset = counted(seen).cache()
    as_lists(dataset.take(3))
    as_lists(dataset)
    assert seen == list(range(10))


def test_the_order_below_a_cache_is_that_of_the_first_pass():
    dataset = Dataset.range(20).shuffle(20).cache()
    assert as_lists(dataset) == as_lists(dataset)
    assert as_lists(dataset.repeat(2)) == as_lists(dataset) * 2
    assert sorted(as_lists(dataset)) == list(range(20))


def test_a_shuffle_above_a_cache_still_reshuffles():
    dataset = Dataset.range(20).map(lambda x: x).cache().shuffle(20, seed=0)
    assert as_lists(dataset) != as_lists(dataset)


def test_short_batches_and_differing_shapes_are_kept():
    dataset = Dataset.range(10).map(lambda x: x + 1).batch(4).cache()
    for _ in range(2):
        assert as_lists(dataset) == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    ragged = Dataset.range(4).map(lambda x: np.ones(int(x))).cache()
    for _ in range(2):
        assert [x.shape for x in ragged] == [(0,), (1,), (2,), (3,)]
    padded = ragged.padded_batch(2).cache()
    for _ in range(2):
        assert [x.shape for x in padded] == [(2, 1), (2, 3)]


def test_a_stream_is_kept_after_a_whole_pass():
    calls = []

    def numbers():
        calls.append(1)
        yield from range(5)

    dataset = Dataset.from_generator(numbers, output_signature=TensorSpec((), "int64")).cache()
    as_lists(dataset.take(2))
    assert len(calls) == 1
    assert as_lists(dataset) == as_lists(dataset.batch(9).unbatch()) == [0, 1, 2, 3, 4]
    assert len(calls) == 2


def test_arrays_in_memory_are_not_kept_a_second_time():
    dataset = Dataset.from_tensor_slices(np.zeros(10)).batch(3)
    assert repr(dataset.cache()._node.child) == repr(dataset._node.child)


def test_an_endless_dataset_is_not_kept():
    dataset = Dataset.range(3).repeat().map(lambda x: x + 1).cache().take(5)
    assert as_lists(dataset) == [1, 2, 3, 1, 2]


def test_prefetch_below_a_cache_stays_prefetch():
    dataset = Dataset.range(6).map(lambda x: x + 1).prefetch(2).cache()
    assert as_lists(dataset) == as_lists(dataset) == [1, 2, 3, 4, 5, 6]
