"""Pipelines and collections of other libraries as Datasets; those of torch and TensorFlow where they are installed."""

import collections
import json

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec, as_dataset
from stratax.data.foreign import adopt
from stratax.errors import BadTypeError, DataError
from tests.data.reference import as_lists


def resumed_everywhere(make, count):
    """Every place of a pipeline is saved and restored in one that was made anew."""
    whole = [repr(element) for element in make()]
    assert len(whole) == count
    for start in range(count + 1):
        iterator = iter(make())
        for _ in range(start):
            next(iterator)
        state = json.loads(json.dumps(iterator.get_state()))
        assert [repr(element) for element in iterator] == whole[start:]
        again = iter(make())
        again.set_state(state)
        assert [repr(element) for element in again] == whole[start:]


def test_a_sequence_is_read_at_any_position():
    dataset = as_dataset([(np.ones(2), {"n": 1}), (np.zeros(2), {"n": 2})])
    assert dataset.is_indexable
    assert len(dataset) == 2
    assert [element[1]["n"] for element in dataset] == [1, 2]
    assert dataset.element_spec == (TensorSpec((2,), "float64"), {"n": TensorSpec((), "int32")})
    assert sorted(as_lists(as_dataset(list(range(50))).shuffle(2, seed=0))) == list(range(50))
    resumed_everywhere(lambda: as_dataset(list(range(7))).shuffle(7, seed=1).batch(2), 4)


def test_elements_of_differing_sizes_pass():
    dataset = as_dataset([np.ones(i % 3) for i in range(1, 8)])
    assert [len(x) for x in dataset] == [1, 2, 0, 1, 2, 0, 1]
    assert [x.shape for x in dataset.padded_batch(4)] == [(4, 2), (3, 2)]
    assert dataset.element_spec == TensorSpec((1,), "float64") or dataset.element_spec.shape == (None,)


def test_elements_that_do_not_fit_the_first_are_refused():
    with pytest.raises(DataError, match="list gave elements of different dtype"):
        list(as_dataset([1, 2.5, 3]))
    with pytest.raises(DataError, match="different structure"):
        list(as_dataset([1, (2, 3), 4]))
    with pytest.raises(
        DataError, match=r"element_spec of an empty collection can't be found.*list of length 0"
    ):
        _ = as_dataset([]).element_spec


class Numbers:
    def __init__(self, count):
        self.count = count
        self.opened = 0

    def __iter__(self):
        self.opened += 1
        return iter([{"n": i, "pair": [np.ones(i), 2]} for i in range(1, self.count + 1)])


def test_what_can_be_iterated_again_and_again_is_a_stream():
    numbers = Numbers(3)
    dataset = as_dataset(numbers)
    assert not dataset.is_indexable
    for _ in range(2):
        assert [int(element["n"]) for element in dataset] == [1, 2, 3]
    assert isinstance(next(iter(dataset))["pair"], tuple)
    with pytest.raises(DataError, match="can't be saved: it reads Numbers, which can't tell where it is"):
        iter(dataset).get_state()
    with pytest.raises(DataError, match="can't be saved: it reads Numbers"):
        iter(dataset.batch(2).prefetch(1)).get_state()


def test_looking_at_the_spec_begins_the_first_pass_and_no_other():
    numbers = Numbers(3)
    dataset = as_dataset(numbers)
    assert dataset.element_spec == {
        "n": TensorSpec((), "int32"),
        "pair": (TensorSpec((None,), "float64"), TensorSpec((), "int32")),
    }
    assert len(list(dataset)) == 3
    assert numbers.opened == 1
    assert len(list(dataset)) == 3
    assert numbers.opened == 2
    with pytest.raises(DataError, match="element_spec of an empty pipeline"):
        _ = as_dataset(Numbers(0)).element_spec


def test_what_is_no_source_is_refused():
    with pytest.raises(BadTypeError, match="A pipeline or collection that can be iterated"):
        as_dataset(3)
    with pytest.raises(BadTypeError, match="Use Dataset.from_tensor_slices"):
        as_dataset({"a": [1]})
    with pytest.raises(BadTypeError, match="An iterator can be read only once"):
        as_dataset(iter([1]))
    dataset = Dataset.range(3)
    assert as_dataset(dataset) is dataset
    assert adopt([1, 2]) == [1, 2]


def test_namedtuples_stay():
    point = collections.namedtuple("point", "x y")
    (found,) = as_dataset([point(1, [np.ones(1)])])
    assert type(found) is point
    assert found.y[0].tolist() == [1]
