"""Random orders."""

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.ops.shuffle import _permutation as permutation
from stratax.data.ops.shuffle._permutation import Permutation


@pytest.mark.parametrize("limit", [0, 1 << 22])
@pytest.mark.parametrize("length", [1, 2, 3, 17, 64, 1000, 4097])
def test_it_is_a_permutation_and_a_function_of_its_key(monkeypatch, limit, length):
    monkeypatch.setattr(permutation, "TABLE_LIMIT", limit)
    order = Permutation(length, (1, 2))(np.arange(length))
    assert order.dtype == np.int64
    assert np.array_equal(np.sort(order), np.arange(length))
    assert np.array_equal(order, Permutation(length, (1, 2))(np.arange(length)))
    if length > 3:
        assert not np.array_equal(order, Permutation(length, (1, 3))(np.arange(length)))


@pytest.mark.stress
def test_it_is_one_of_more_numbers_than_a_table_holds():
    order = Permutation(10_000_000, (3,))
    is_seen = np.zeros(10_000_000, bool)
    for start in range(0, 10_000_000, 1_000_000):
        is_seen[order(np.arange(start, start + 1_000_000))] = True
    assert is_seen.all()


def test_a_computed_permutation_is_as_spread_as_a_random_one(monkeypatch):
    monkeypatch.setattr(permutation, "TABLE_LIMIT", 0)
    n = 20_000
    order = Permutation(n, (5,))(np.arange(n))
    expected = n / 3
    assert abs(np.abs(order - np.arange(n)).mean() - expected) < 0.03 * expected
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.03


def test_ten_million_records_are_permuted_without_a_table():
    order = Permutation(10_000_000, (0,))
    assert order._table is None
    images = order(np.arange(0, 10_000_000, 101))
    assert len(np.unique(images)) == len(images)
    assert 0 <= images.min() < 1000
    assert 9_999_000 < images.max() < 10_000_000
    first = next(iter(Dataset.range(10_000_000).shuffle(100, seed=1).batch(1000)))
    assert len(np.unique(first)) == 1000


def test_negative_and_large_seeds_work():
    assert sorted(int(x) for x in Dataset.range(9).shuffle(9, seed=-5)) == list(range(9))
    assert sorted(int(x) for x in Dataset.range(9).shuffle(9, seed=2**70)) == list(range(9))
    stream = Dataset.range(9).filter(lambda x: x >= 0)
    assert sorted(int(x) for x in stream.shuffle(4, seed=-5)) == list(range(9))
