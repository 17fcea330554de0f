"""`flat_map`."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.errors import BadTypeError, DataError
from tests.data.reference import as_lists


def test_flat_map_chains_datasets():
    dataset = Dataset.range(4).flat_map(lambda n: Dataset.from_tensors(n).repeat(int(n)))
    assert as_lists(dataset) == [1, 2, 2, 3, 3, 3]
    assert dataset.element_spec == TensorSpec((), "int64")
    rows = Dataset.from_tensor_slices(np.arange(6).reshape(2, 3)).flat_map(Dataset.from_tensor_slices)
    assert as_lists(rows.batch(4)) == [[0, 1, 2, 3], [4, 5]]


def test_flat_map_needs_datasets_of_one_structure():
    with pytest.raises(BadTypeError, match="flat_map has to return a Dataset.*returned int64"):
        list(Dataset.range(3).flat_map(lambda x: x))
    mixed = Dataset.range(3).flat_map(lambda x: Dataset.from_tensors(x if x < 2 else (x, x)))
    with pytest.raises(DataError, match="different structure.*for element 2"):
        list(mixed)
    with pytest.raises(DataError, match="flat_map over an empty Dataset"):
        _ = Dataset.range(0).window(2).flat_map(lambda x: x).element_spec


def test_flat_map_over_nothing_has_the_spec_of_what_zeros_give():
    nothing = Dataset.range(3).filter(lambda x: x > 5)
    # As TensorFlow 2.21.
    assert Dataset.range(0).flat_map(Dataset.range).element_spec == TensorSpec((), "int64")
    pairs = nothing.flat_map(lambda x: Dataset.from_tensors((x, np.float32([1, 2]))))
    assert pairs.element_spec == (TensorSpec((), "int64"), TensorSpec((2,), "float32"))
    assert list(pairs.batch(2)) == list(Dataset.range(0).scan(np.int64(0), lambda s, x: (s, x))) == []
    assert nothing.scan(np.int64(0), lambda s, x: (s + x, s)).element_spec == TensorSpec((), "int64")


def test_a_failing_function_of_flat_map_names_the_element():
    with pytest.raises(ZeroDivisionError) as caught:
        list(Dataset.range(3).flat_map(lambda x: Dataset.range(6 // int(x - 1))))
    assert any("given to flat_map failed on element 1" in note for note in caught.value.__notes__)
