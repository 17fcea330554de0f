"""`shuffle`: orders of positions, and through a buffer."""

import random

from stratax.data import Dataset
from tests.data.reference import as_lists


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
