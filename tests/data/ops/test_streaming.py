"""filter, flat_map and window."""

import contextlib

import numpy as np
import pytest

from stratax.data import Dataset, DatasetSpec, TensorSpec
from stratax.errors import BadTypeError, DataError
from tests.data.pipelines import broken, stream
from tests.data.reference import as_lists


def windows(dataset):
    return [as_lists(window) for window in dataset]


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
        _ = Dataset.range(0).flat_map(lambda x: Dataset.range(2)).element_spec


def test_a_failing_function_of_flat_map_names_the_element():
    with pytest.raises(ZeroDivisionError) as caught:
        list(Dataset.range(3).flat_map(lambda x: Dataset.range(6 // int(x - 1))))
    assert any("given to flat_map failed on element 1" in note for note in caught.value.__notes__)


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
    assert repr(DatasetSpec(1)) == "DatasetSpec(1)"
