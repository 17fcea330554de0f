"""What is found out about the function given to `map` is found out once, not for every element."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.data.ops import Mapper
from stratax.errors import DataError


@pytest.fixture
def num_widened(monkeypatch):
    """How often the spec was made again, as the only item of a list."""
    count = [0]
    widen = Mapper._widen

    def spy(self, *args):
        count[0] += 1
        widen(self, *args)

    monkeypatch.setattr(Mapper, "_widen", spy)
    return count


def test_the_spec_is_not_made_again_for_shapes_that_it_allows(num_widened):
    def of_many_sizes(x):
        print(end="")
        return {"row": np.ones((2, int(x) % 7)), "label": x, "text": b"s" * int(x)}

    dataset = Dataset.range(100).map(of_many_sizes)
    assert [e["row"].shape for e in dataset] == [(2, i % 7) for i in range(100)]
    assert num_widened[0] <= 2
    assert dataset.element_spec == {
        "row": TensorSpec((2, None), "float64"),
        "label": TensorSpec((), "int64"),
        "text": TensorSpec((), object),
    }


def test_a_size_that_differs_late_is_seen(num_widened):
    def another_at_last(x):
        print(end="")
        return np.ones((3 if x == 50 else 2, 4))

    dataset = Dataset.range(60).map(another_at_last)
    list(dataset)
    assert dataset.element_spec == TensorSpec((None, 4), "float64")
    assert num_widened[0] == 2


@pytest.mark.parametrize("other", [np.ones(2), np.ones((2, 4), np.float32), (np.ones((2, 4)),)])
def test_a_result_of_another_kind_is_reported_though_its_shape_fits(other):
    def another_at_last(x):
        print(end="")
        return other if x == 5 else np.ones((2, int(x)))

    with pytest.raises(DataError, match="given to map gave elements of different"):
        list(Dataset.range(10).map(another_at_last))
