"""Batches, padded batches, and taking them apart."""

import numpy as np
import pytest

from stratax.data import UNKNOWN_CARDINALITY, Dataset, TensorSpec
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.reference import as_lists

RAGGED = [[1], [2, 3], [4, 5, 6], [7]]


def ragged(streaming=False):
    dataset = Dataset.range(4).map(lambda i: np.array(RAGGED[int(i)], np.int32))
    return dataset.filter(lambda x: x.size > 0) if streaming else dataset


@pytest.mark.parametrize(
    ("length", "drop", "leading"), [(10, False, None), (12, False, 4), (10, True, 4), (0, False, 4)]
)
def test_the_leading_size_is_known_unless_the_last_batch_is_short(length, drop, leading):
    dataset = Dataset.range(length).batch(4, drop_remainder=drop)
    assert dataset.element_spec == TensorSpec((leading,), "int64")
    assert dataset.batch_size == 4
    assert len(dataset) == len(list(dataset))


def test_endless_and_streamed_batches_have_their_spec():
    assert Dataset.range(10).repeat().batch(4).element_spec.shape == (4,)
    assert Dataset.range(10).filter(lambda x: x > 1).batch(4).element_spec.shape == (None,)
    assert Dataset.range(10).filter(lambda x: x > 1).batch(4, True).element_spec.shape == (4,)


def test_the_batch_size_is_seen_through_what_keeps_it():
    dataset = Dataset.range(20).batch(8)
    for one in (
        dataset.repeat().shuffle(9).take(3).prefetch(2).cache(),
        dataset.map(lambda x: (x, x + 1)),
        Dataset.zip(dataset, dataset),
        dataset.filter(lambda x: len(x) == 8),
    ):
        assert one.batch_size == 8
    for one in (
        Dataset.range(20),
        dataset.unbatch(),
        dataset.map(lambda x: x.sum()),
        Dataset.zip(dataset, dataset.rebatch(2)),
        dataset.map(lambda x: x, num_parallel_calls=2).map(lambda x: x[:3]),
    ):
        assert one.batch_size is None


def test_batches_of_batches():
    dataset = Dataset.range(10).batch(2).batch(2)
    assert as_lists(dataset) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]]
    with pytest.raises(DataError, match="components of one shape"):
        list(Dataset.range(5).batch(2).batch(3))


def test_rebatch_keeps_elements_and_order():
    assert as_lists(Dataset.range(7).batch(3).rebatch(2)) == [[0, 1], [2, 3], [4, 5], [6]]
    assert as_lists(Dataset.range(7).batch(3).map(lambda x: x).rebatch(5, True)) == [[0, 1, 2, 3, 4]]
    with pytest.raises(BadArgumentError, match="batch_size"):
        Dataset.range(7).batch(3).rebatch(0)


@pytest.mark.parametrize("size", [0, -3, True])
def test_a_batch_smaller_than_one_is_refused(size):
    for method in ("batch", "padded_batch", "rebatch"):
        with pytest.raises(BadArgumentError, match="batch_size has to be an integer of at least 1"):
            getattr(Dataset.range(5).batch(1), method)(size)
    with pytest.raises(BadTypeError, match="batch_size has to be an integer"):
        Dataset.range(5).batch(2.5)


def test_cardinality_of_streamed_batches_is_unknown():
    assert Dataset.range(5).filter(lambda x: x > 1).batch(2).cardinality() == UNKNOWN_CARDINALITY
    assert ragged(streaming=True).unbatch().cardinality() == UNKNOWN_CARDINALITY
