import pytest

from tests import stressed


def test_cases_that_are_not_quick_have_the_marker():
    cases = stressed.but(lambda name, count=1: count < 3, [("one", 1), ("many", 8), "default"])
    assert [case.values for case in cases] == [("one", 1), ("many", 8), ("default",)]
    assert [[mark.name for mark in case.marks] for case in cases] == [[], ["stress"], []]


@pytest.mark.parametrize("number", stressed.but(lambda number: True, [1, 2]))
def test_a_case_that_is_no_tuple_is_the_one_argument(number):
    assert number in (1, 2)
