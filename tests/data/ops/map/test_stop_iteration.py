"""A StopIteration of the user's functions is an error, not the end of the Dataset."""

from collections.abc import Sequence

import numpy as np
import pytest

import stratax as sx
from stratax.data import Dataset
from stratax.errors import DataError, OutOfRangeError

RANGE = Dataset.range(4)


def stop(*args):
    raise StopIteration("nothing left")


def stop_late(x):
    if x >= 2:
        stop()
    return x


def takes_from_an_empty_iterator(x):
    return next(iter(()))


class Lazy:
    def __array__(self, dtype=None, copy=None):
        raise StopIteration


class Items(Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return np.int64(index) if index != 2 else stop()


def outcome(dataset):
    """The elements before the failure, and the failure."""
    found = []
    with pytest.raises(DataError, match="raised StopIteration, which would end the Dataset") as caught:
        found.extend(np.asarray(element).tolist() for element in dataset)
    return found, caught.value


@pytest.mark.parametrize(
    "dataset",
    [
        RANGE.map(stop_late),
        RANGE.map(stop_late, num_parallel_calls=2),
        RANGE.map(stop_late).prefetch(1),
        RANGE.filter(lambda x: True).map(stop_late),
        RANGE.filter(lambda x: stop_late(x) >= 0),
        RANGE.flat_map(lambda x: Dataset.from_tensors(stop_late(x))),
        RANGE.interleave(lambda x: Dataset.from_tensors(stop_late(x)), cycle_length=1),
        RANGE.interleave(lambda x: Dataset.from_tensors(stop_late(x)), 1, num_parallel_calls=1),
        Dataset.from_generator(lambda: [0, 1, Lazy()], output_types="int64"),
        sx.data.as_dataset(Items()),
    ],
)
def test_what_came_before_is_given_and_then_the_error(dataset):
    found, error = outcome(dataset)
    assert found == [0, 1]
    assert isinstance(error.__cause__, StopIteration)


@pytest.mark.parametrize(
    "dataset",
    [
        RANGE.map(takes_from_an_empty_iterator),
        RANGE.map(lambda x: Lazy()),
        RANGE.filter(lambda x: Lazy()),
        RANGE.map(stop).batch(2),
        Dataset.from_generator(stop, output_types="int64"),
        RANGE.window(2).flat_map(stop),
    ],
)
def test_it_is_an_error_at_once(dataset):
    assert outcome(dataset)[0] == []


def test_the_next_reading_goes_on_behind_it():
    iterator = iter(RANGE.map(lambda x: stop() if x == 1 else x))
    assert int(next(iterator)) == 0
    with pytest.raises(DataError, match="The function .*lambda.* raised StopIteration"):
        next(iterator)
    assert [int(x) for x in iterator] == [2, 3]


def test_the_end_of_another_iterator_is_one_too():
    def exhausted(x):
        raise OutOfRangeError("The input ran out.")

    assert outcome(RANGE.map(exhausted))[0] == []


def test_reduce_and_save_say_so_too(tmp_path):
    with pytest.raises(DataError, match="raised StopIteration"):
        RANGE.reduce(np.int64(0), stop)
    with pytest.raises(DataError, match="raised StopIteration"):
        RANGE.save(tmp_path / "saved", shard_func=stop)


def test_a_generators_own_end_is_the_end():
    class Two:
        count = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.count += 1
            return self.count if self.count <= 2 else stop()

    assert [int(x) for x in Dataset.from_generator(Two, output_types="int64")] == [1, 2]
