"""`unbatch`."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.errors import DataError
from tests.data.reference import as_lists


def test_unbatch_takes_apart_what_batch_or_an_array_put_together():
    assert as_lists(Dataset.range(7).batch(3).unbatch()) == list(range(7))
    assert as_lists(Dataset.range(7).batch(3, drop_remainder=True).unbatch()) == list(range(6))
    assert as_lists(Dataset.range(7).batch(3).prefetch(1).unbatch()) == list(range(7))
    assert Dataset.range(7).batch(3).unbatch().is_indexable
    matrix = Dataset.from_tensors((np.arange(6).reshape(2, 3), [7, 8]))
    assert [(a.tolist(), int(b)) for a, b in matrix.unbatch()] == [([0, 1, 2], 7), ([3, 4, 5], 8)]
    assert len(matrix.unbatch()) == 2
    assert matrix.unbatch().element_spec == (TensorSpec((3,), "int64"), TensorSpec((), "int32"))
    assert as_lists(Dataset.range(6).filter(lambda x: x > 1).batch(2).unbatch()) == [2, 3, 4, 5]


def test_unbatch_needs_a_first_axis_of_one_size():
    with pytest.raises(DataError, match="every component needs one"):
        Dataset.range(3).unbatch()
    with pytest.raises(DataError, match="same first dimension"):
        list(Dataset.from_tensors((np.zeros(2), np.zeros(3))).unbatch())
    # Where only the function of a map tells what elements are, when they are read.
    with pytest.raises(DataError, match="same first dimension"):
        list(Dataset.range(3).map(lambda x: x).unbatch())
