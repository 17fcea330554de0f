"""Elements of an iterable: stacked, in their place, and not lost before a failure."""

import numpy as np
import pytest

from stratax import errors
from stratax.distribute.input._elements import open_elements
from stratax.distribute.input._steps import as_elements


def test_the_elements_of_an_iterable_are_stacked_as_long_as_they_have_one_shape():
    elements = open_elements([np.zeros(2), np.zeros(2), np.zeros(3)], as_elements)
    assert [elements.read(8).count for _ in range(2)] == [2, 1]
    with pytest.raises(StopIteration):
        elements.read(8)


def test_elements_before_a_failure_are_not_lost():
    def failing():
        yield np.zeros(2)
        raise KeyError("source")

    elements = open_elements(failing(), as_elements)
    assert elements.read(8).count == 1
    with pytest.raises(KeyError, match="source"):
        elements.read(8)


def test_an_iterable_that_can_not_be_put_back_has_no_place():
    with pytest.raises(errors.DataError, match=r"can't be put back.*an iterator of type list_iterator"):
        open_elements([np.zeros(2)], as_elements).get_state()


def test_a_structure_that_changes_is_refused():
    elements = open_elements([(np.zeros(2),), [np.zeros(2)]], as_elements)
    elements.read(1)
    with pytest.raises(errors.DataError, match=r"structure of a dataset's elements changed"):
        elements.read(1)
