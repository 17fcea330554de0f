"""`concatenate`."""

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.errors import BadTypeError, DataError
from tests.data.reference import as_lists


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
    with pytest.raises(BadTypeError, match="same structure and dtypes"):
        Dataset.range(3).concatenate(Dataset.from_tensors((1, 2)))
    opaque = Dataset.range(3).map(lambda x: (x, str(x)))
    with pytest.raises(BadTypeError, match="same structure and dtypes"):
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


def test_windows_are_concatenated():
    windows = Dataset.range(2).window(2).concatenate(Dataset.range(3).window(2))
    assert [[int(x) for x in window] for window in windows] == [[0, 1], [0, 1], [2]]
    with pytest.raises(BadTypeError, match="same structure and dtypes"):
        Dataset.range(2).window(2).concatenate(Dataset.range(2))
