"""A list that a mapped function returns is a tuple of components, each with its own dtype."""

from collections import namedtuple

import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf
from stratax.data import Dataset, TensorSpec

Pair = namedtuple("Pair", "a b")
RANGE = Dataset.range(3)
INT64, FLOAT32 = TensorSpec((), "int64"), TensorSpec((), "float32")


def values(dataset):
    def plain(value):
        if isinstance(value, tuple):
            return tuple(plain(part) for part in value)
        return np.asarray(value).tolist()

    return [plain(element) for element in dataset]


def with_effects(x):
    NOTED.append(int(x))
    return [x, 1.5]


NOTED = []


@pytest.mark.parametrize("function", [lambda x: [x, 1.5], with_effects, lambda x: [jnp.add(x, 0), 1.5]])
@pytest.mark.parametrize("arguments", [{}, {"num_parallel_calls": 2}])
def test_the_parts_are_components_with_their_dtypes(function, arguments):
    dataset = RANGE.map(function, **arguments)
    assert values(dataset) == [(0, 1.5), (1, 1.5), (2, 1.5)]
    assert [part.dtype for part in next(iter(dataset))][1] == np.float32
    assert values(dataset.batch(2)) == [([0, 1], [1.5, 1.5]), ([2], [1.5])]


def test_the_spec_is_that_of_a_tuple():
    assert RANGE.map(lambda x: [x, 1.5]).element_spec == (INT64, FLOAT32)
    assert RANGE.map(lambda x: [x]).element_spec == (INT64,)
    assert RANGE.map(lambda x: [1.0, 2]).element_spec == (FLOAT32, TensorSpec((), "int32"))
    assert RANGE.map(lambda x: [[1, 2], [3.0, 4]]).element_spec == (
        TensorSpec((2,), "int32"),
        TensorSpec((2,), "float32"),
    )
    assert RANGE.map(lambda x: [{"a": x}, x]).element_spec == ({"a": INT64}, INT64)


def test_the_next_function_gets_the_parts_as_arguments():
    assert values(RANGE.map(lambda x: [x, x + 1]).map(lambda a, b: a + b)) == [1, 3, 5]
    assert values(RANGE.map(lambda x: [x]).map(lambda y: y + 1)) == [1, 2, 3]


def test_functions_that_return_lists_of_parts():
    assert values(RANGE.map(lambda x: tf.unstack(np.stack([x, x])))) == [(0, 0), (1, 1), (2, 2)]
    assert values(RANGE.map(lambda x: tf.split(np.stack([x, x]), 2))) == [([0], [0]), ([1], [1]), ([2], [2])]


def test_lists_inside_of_other_structure_are_arrays():
    assert RANGE.map(lambda x: (x, [1, 2])).element_spec == (INT64, TensorSpec((2,), "int32"))
    assert RANGE.map(lambda x: Pair(x, [1, 2])).element_spec == Pair(INT64, TensorSpec((2,), "int32"))


def test_lists_outside_of_functions_are_arrays():
    assert Dataset.from_tensors([1, 2.5]).element_spec == TensorSpec((2,), "float32")
    assert Dataset.from_tensor_slices([[1, 2], [3, 4]]).element_spec == TensorSpec((2,), "int32")


def test_a_state_of_a_tuple_may_come_back_as_a_list():
    count, total = RANGE.reduce((0, 0.5), lambda state, x: [state[0] + 1, state[1] * 2])
    assert (count, count.dtype, total, total.dtype) == (3, np.int32, 4.0, np.float32)
    # A list that a state begins with is an array, and so is what stands for it.
    assert RANGE.reduce([0, 0.5], lambda state, x: [state[0] + 1, state[1]]).tolist() == [3, 0.5]


def test_in_worker_processes_too():
    dataset = RANGE.map(lambda x: [x, 1.5], num_processes=1)
    assert values(dataset) == [(0, 1.5), (1, 1.5), (2, 1.5)]
