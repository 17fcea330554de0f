"""Each element once, where it comes first."""

import numpy as np
import pytest

from stratax import errors
from stratax.data import Dataset


def test_elements_come_once_in_their_order():
    found = Dataset.from_tensor_slices(np.int32([3, 1, 3, 2, 1])).unique()
    assert [int(element) for element in found] == [3, 1, 2]
    assert list(Dataset.from_tensor_slices(["b", "a", "b"]).unique().as_numpy_iterator()) == [b"b", b"a"]


def test_one_component_may_have_a_name():
    found = Dataset.from_tensor_slices({"a": np.int32([3, 1, 3])}).unique()
    assert [int(element["a"]) for element in found] == [3, 1]


def test_fractions_are_refused():
    with pytest.raises(errors.BadTypeError, match="unique takes Datasets of one component"):
        list(Dataset.from_tensor_slices(np.float32([1, 2])).unique())
