"""A state goes through all elements."""

import numpy as np
import pytest

from stratax import errors
from stratax.data import Dataset


def test_a_state_goes_through_the_elements_in_their_order():
    sums = Dataset.range(5).scan(np.int64(0), lambda state, element: (state + element, state + element))
    assert [int(element) for element in sums] == [0, 1, 3, 6, 10]
    # Each pass begins with the first state.
    assert [int(element) for element in sums] == [0, 1, 3, 6, 10]


def test_a_function_that_gives_no_pair_is_refused():
    with pytest.raises(errors.StrataxError, match="scan"):
        list(Dataset.range(2).scan(np.int64(0), lambda state, element: state + element))
