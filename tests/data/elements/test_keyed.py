"""Random numbers that are functions of a key."""

import numpy as np
import pytest

from stratax.data.elements._keyed import random_integers, uniform


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


def test_uniform_numbers_are_spread_evenly():
    numbers = np.array([uniform((), (7, n)) for n in range(4000)])
    assert ((numbers >= 0) & (numbers < 1)).all()
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert 320 < counts.min() <= counts.max() < 480
