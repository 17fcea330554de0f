"""An `element_spec` claims no size that a later element does not have."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.data.elements import flatten

TEN = Dataset.range(10)


def shapes(dataset):
    return [spec.shape for spec in flatten(dataset.element_spec)[0]]


def check_every_element_fits(dataset):
    specs = flatten(dataset.element_spec)[0]
    for element in dataset:
        for spec, leaf in zip(specs, flatten(element)[0], strict=True):
            assert spec.is_compatible_with(TensorSpec.from_array(leaf))


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (TEN.window(4).flat_map(lambda w: w.batch(4)), (None,)),
        (TEN.window(4).flat_map(lambda w: w.batch(4).map(lambda b: b * 2)), (None,)),
        (TEN.window(4).flat_map(lambda w: w.batch(4)).map(lambda b: b + 1), (None,)),
        (TEN.window(4).flat_map(lambda w: w.padded_batch(4)), (None,)),
        (TEN.window(4).flat_map(lambda w: w.batch(2).batch(2)), (None, None)),
        (TEN.window(4, drop_remainder=True).flat_map(lambda w: w.batch(4, drop_remainder=True)), (4,)),
        (Dataset.range(1, 4).interleave(lambda x: Dataset.range(4 * x).batch(8), 2), (None,)),
        (Dataset.range(1, 4).flat_map(lambda x: Dataset.from_tensors(np.zeros(int(x)))), (None,)),
        (Dataset.range(1, 4).flat_map(lambda x: Dataset.from_tensors(np.zeros((2, int(x))))), (2, None)),
        (Dataset.range(1, 4).flat_map(lambda x: Dataset.from_tensors(np.zeros(2))), (2,)),
        (Dataset.range(2).interleave(lambda x: TEN.map(lambda y: np.zeros(2 + int(x)))), (None,)),
        (TEN.batch(5), (5,)),
        (TEN.batch(4), (None,)),
        (TEN.filter(lambda x: x > 0).batch(9), (None,)),
        (Dataset.range(4).batch(4).concatenate(Dataset.range(2).batch(2)), (None,)),
        (TEN.batch(4).padded_batch(2), (None, None)),
        (Dataset.range(12).batch(4).batch(2), (None, 4)),
    ],
)
def test_the_spec_holds_for_all_elements(dataset, expected):
    assert shapes(dataset) == [expected]
    check_every_element_fits(dataset)
    assert shapes(dataset) == [expected]


def effects(x):
    LENGTHS.append(int(x))
    return np.zeros(3 if x != 3 else 2)


LENGTHS = []


@pytest.mark.parametrize(
    "dataset",
    [
        Dataset.range(7).map(effects),
        Dataset.range(7).filter(lambda x: True).map(effects),
        Dataset.range(7).flat_map(lambda x: Dataset.from_tensors(effects(x))),
        Dataset.from_tensors(np.zeros(3)).concatenate(Dataset.from_tensors(np.zeros(2))).map(lambda x: x + 1),
    ],
)
def test_a_size_that_turns_out_to_differ_is_open_from_then_on(dataset):
    assert {np.shape(element) for element in dataset} == {(3,), (2,)}
    assert shapes(dataset) == [(None,)]


def test_looking_at_a_spec_draws_nothing_from_pythons_random():
    import random

    random.seed(1)
    expected = random.random()
    random.seed(1)
    _ = TEN.flat_map(lambda x: Dataset.range(3).shuffle(3)).element_spec
    assert random.random() == expected
