"""Random numbers that are functions of a key."""

import numpy as np
import pytest

from stratax.data.elements import element_scope, element_uniform, random_integers, uniform


def test_random_integers_are_uniform_functions_of_position():
    numbers = random_integers(np.arange(100_000), (3,))
    assert np.array_equal(numbers[500:600], random_integers(np.arange(500, 600), (3,)))
    assert abs(numbers.mean() / 2**31 - 1) < 0.01
    assert not np.array_equal(numbers, random_integers(np.arange(100_000), (4,)))


@pytest.mark.parametrize("count", [1, 3, 8, 9, 100])
def test_uniform_numbers_are_a_function_of_the_key(count):
    numbers = uniform((count,), (1, -2, 1 << 70))
    np.testing.assert_array_equal(numbers, uniform((count,), (1, -2, 1 << 70)))
    assert not np.array_equal(numbers, uniform((count,), (1, -3, 1 << 70)))
    assert uniform((count, 1), (5,)).shape == (count, 1)


def test_uniform_numbers_are_those_of_earlier_versions():
    assert uniform((), (7, 1)).item() == 0.8033384902111143
    assert uniform((2,), (1, -2, 1 << 70)).tolist() == [0.4338425091771817, 0.5038488212179185]


def test_draws_of_an_element_are_named_by_its_key_their_number_and_their_seed():
    with element_scope(lambda: (3, -1, 5)):
        drawn = [element_uniform(()), element_uniform((2,), 7), element_uniform((20,)), element_uniform((1,))]
    wanted = [
        uniform((), (3, -1, 5, 1, -1)),
        uniform((2,), (3, -1, 5, 2, 7)),
        uniform((20,), (3, -1, 5, 3, -1)),
        uniform((1,), (3, -1, 5, 4, -1)),
    ]
    for one, other in zip(drawn, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_uniform_numbers_are_spread_evenly():
    numbers = np.array([uniform((), (7, n)) for n in range(4000)])
    assert ((numbers >= 0) & (numbers < 1)).all()
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert 320 < counts.min() <= counts.max() < 480
