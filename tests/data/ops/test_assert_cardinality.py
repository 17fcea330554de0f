"""`assert_cardinality`: a number that is told, and checked at the end."""

import pytest

from stratax.data import INFINITE_CARDINALITY, Dataset
from stratax.errors import FailedPreconditionError
from tests.data.reference import as_lists


def test_a_number_is_told_and_checked():
    numbers = Dataset.range(3).filter(lambda x: x >= 0)
    assert len(numbers.assert_cardinality(3)) == 3
    assert as_lists(numbers.assert_cardinality(3)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("expected", "found"), [(4, "only 3"), (2, "at least 3"), (INFINITE_CARDINALITY, "only 3")]
)
def test_another_number_fails(expected, found):
    with pytest.raises(FailedPreconditionError, match=f"elements but contained {found}"):
        list(Dataset.range(3).assert_cardinality(expected))
