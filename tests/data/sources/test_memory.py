"""Where elements come from."""

import numpy as np
import pytest

from stratax.data import Dataset, DatasetSpec, TensorSpec
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.reference import as_lists

INT = TensorSpec((), "int64")


def test_slices_need_one_first_dimension_and_the_message_names_the_components():
    with pytest.raises(DataError, match=r"tensors\['x'\]: 3, tensors\['y'\]\[0\]: 4"):
        Dataset.from_tensor_slices({"x": np.zeros(3), "y": (np.zeros(4),)})
    with pytest.raises(DataError, match="tensors is a scalar, .*5.*Use from_tensors"):
        Dataset.from_tensor_slices(5)
    with pytest.raises(DataError, match="at least one component"):
        Dataset.from_tensor_slices(())


def test_gathers_take_any_positions():
    data = np.arange(40).reshape(20, 2)
    dataset = Dataset.from_tensor_slices(data)
    for chain in (dataset, dataset.shard(3, 1), dataset.skip(5).take(4), dataset.shuffle(9, seed=1)):
        np.testing.assert_array_equal(np.concatenate(list(chain.batch(6))), np.stack(list(chain)))
    assert np.concatenate(list(dataset.shard(3, 1).batch(6))).tolist() == data[1::3].tolist()


@pytest.mark.parametrize("args", [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0,), (5, 2), (-3, 3, 2)])
def test_range_is_pythons(args):
    assert as_lists(Dataset.range(*args)) == list(range(*args))
    assert len(Dataset.range(*args)) == len(range(*args))


def test_range_has_a_dtype():
    assert Dataset.range(3).element_spec.dtype == np.int64
    assert next(iter(Dataset.range(3, output_type="float32"))).dtype == np.float32


def test_range_refuses_what_is_no_range():
    with pytest.raises(BadTypeError, match="range takes"):
        Dataset.range()
    with pytest.raises(BadArgumentError, match="numbers of a range are int64"):
        Dataset.range(2**63)
    with pytest.raises(
        BadArgumentError, match=r"has to be an integer. Received: args\[0\]=True. Pass a number"
    ):
        Dataset.range(True)
    with pytest.raises(BadArgumentError, match="step of a range is not zero"):
        Dataset.range(0, 3, 0)
    with pytest.raises(BadTypeError, match=r"args\[0\] has to be an integer"):
        Dataset.range(1.5)


def test_one_string_keeps_the_zero_bytes_at_its_end():
    assert list(Dataset.from_tensors(b"a\0")) == [b"a\0"]
    assert Dataset.from_tensors("a").element_spec.dtype == object


@pytest.mark.parametrize("dtype", ["string", bool])
def test_ranges_are_of_numbers(dtype):
    with pytest.raises(BadTypeError, match="elements of a range are numbers.*output_type"):
        Dataset.range(3, output_type=dtype)
    with pytest.raises(BadTypeError, match="elements of a range are numbers.*dtype"):
        Dataset.counter(dtype=dtype)


def test_a_counter_counts_in_fractions():
    counted = as_lists(Dataset.counter(0.5, 0.25, "float32").take(3))
    assert counted == [0.5, 0.75, 1.0]
    with pytest.raises(BadTypeError, match="start has to be an integer"):
        Dataset.counter(0.5)


def test_datasets_in_a_list_are_elements():
    parts = [Dataset.range(2), Dataset.range(3)]
    nested = Dataset.from_tensor_slices(parts)
    assert as_lists(nested.flat_map(lambda part: part)) == [0, 1, 0, 1, 2]
    assert as_lists(nested.interleave(lambda part: part, cycle_length=2)) == [0, 0, 1, 1, 2]
    assert nested.element_spec.element_spec == TensorSpec((), "int64")
    beside = [(as_lists(part), int(n)) for part, n in Dataset.from_tensor_slices((parts, [5, 6]))]
    assert beside == [([0, 1], 5), ([0, 1, 2], 6)]
    with pytest.raises(DataError, match="the same first dimension"):
        Dataset.from_tensor_slices((parts, [5]))


# TensorFlow 2.21.
def test_an_element_may_be_a_dataset():
    numbers = Dataset.range(3)
    made = Dataset.from_tensors(numbers)
    assert made.element_spec == DatasetSpec(INT)
    assert [as_lists(each) for each in made.repeat(2)] == [[0, 1, 2], [0, 1, 2]]
    pair = Dataset.from_tensors((1, numbers))
    assert pair.element_spec == (TensorSpec((), "int32"), DatasetSpec(INT))
    assert as_lists(pair.flat_map(lambda x, inner: inner.map(lambda y: x + y))) == [1, 2, 3]
