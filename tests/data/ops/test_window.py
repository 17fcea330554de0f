"""`window`."""

import contextlib

import numpy as np
import pytest

from stratax.data import Dataset, DatasetSpec, TensorSpec
from tests.data.pipelines import broken, stream
from tests.data.reference import as_lists


def windows(dataset):
    return [as_lists(window) for window in dataset]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((3,), [[0, 1, 2], [3, 4, 5], [6]]),
        ((3, 2), [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]),
        ((3, 1, 2), [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5], [4, 6], [5], [6]]),
        ((2, 3), [[0, 1], [3, 4], [6]]),
        ((3, None, 1, True), [[0, 1, 2], [3, 4, 5]]),
        ((3, 1, 2, True), [[0, 2, 4], [1, 3, 5], [2, 4, 6]]),
    ],
)
def test_windows_are_those_of_tensorflow(arguments, expected):
    dataset = Dataset.range(7).window(*arguments)
    assert windows(dataset) == expected
    assert len(dataset) == len(expected)
    stream = Dataset.range(7).filter(lambda x: x >= 0).window(*arguments)
    assert windows(stream) == expected


def test_windows_of_structures_are_structures_of_datasets():
    dataset = Dataset.from_tensor_slices({"a": np.arange(4), "b": np.ones((4, 2))}).window(2)
    assert dataset.element_spec["b"] == DatasetSpec(TensorSpec((2,), "float64"))
    first = next(iter(dataset))
    assert as_lists(first["a"]) == [0, 1]
    flat = dataset.flat_map(lambda w: Dataset.zip(w["a"], w["b"]).batch(2))
    assert [a.tolist() for a, _ in flat] == [[0, 1], [2, 3]]


def test_an_element_that_fails_takes_the_windows_it_belongs_to_with_it():
    def pipeline():
        return stream(9).map(broken).window(3, shift=1, stride=2)

    def following(iterator):
        found = []
        while True:
            try:
                found.append(as_lists(next(iterator)))
            except StopIteration:
                return found
            except ValueError as e:
                found.append(str(e))

    failed = "element 3 is broken"
    whole = [[0, 2, 4], failed, [2, 4, 6], failed, [4, 6, 8], [5, 7], [6, 8], [7], [8]]
    assert following(iter(pipeline())) == whole
    iterator = iter(pipeline())
    for place in range(len(whole)):
        restored = iter(pipeline())
        restored.set_state(iterator.get_state())
        assert following(restored) == whole[place:]
        with contextlib.suppress(ValueError):
            next(iterator)


def test_windows_flatten_to_batches():
    dataset = Dataset.range(6).window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3))
    assert as_lists(dataset) == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert hash(DatasetSpec(1)) == hash(DatasetSpec(1))
    assert repr(DatasetSpec(1)) == "DatasetSpec(1, TensorShape([]))"
