"""`filter`."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.errors import DataError
from tests.data.reference import as_lists


def test_filter_keeps_what_passes():
    assert as_lists(Dataset.range(10).filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    pairs = Dataset.zip(Dataset.range(5), Dataset.range(5, 10)).filter(lambda a, b: (a + b) > 9)
    assert [(int(a), int(b)) for a, b in pairs] == [(3, 8), (4, 9)]
    assert pairs.element_spec == (TensorSpec((), "int64"), TensorSpec((), "int64"))


def test_a_predicate_can_not_change_the_element():
    def spoil(x):
        x[0] = 100
        return True

    data = Dataset.from_tensor_slices(np.zeros((2, 2))).filter(spoil)
    assert np.stack(list(data)).max() == 0


def test_a_predicate_returns_one_bool():
    with pytest.raises(DataError, match="has to return one bool.*dtype=int64"):
        list(Dataset.range(3).filter(lambda x: x))
    with pytest.raises(DataError, match=r"has to return one bool.*shape=\(2,\)"):
        list(Dataset.range(4).batch(2).filter(lambda x: x > 1))


def test_a_failing_predicate_names_the_element():
    with pytest.raises(ZeroDivisionError) as caught:
        list(Dataset.range(3).filter(lambda x: 1 / int(x - 2) > 0))
    assert any("given to filter failed on element 2" in note for note in caught.value.__notes__)
