"""`rebatch` to one size, and to sizes that take turns; the batches are TensorFlow's."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.errors import BadArgumentError, BadTypeError
from tests.data.reference import as_lists


@pytest.mark.parametrize(
    ("length", "sizes", "drop_remainder", "expected"),
    [
        (8, [1, 3], False, [[0], [1, 2, 3], [4], [5, 6, 7]]),
        (7, [1, 3], False, [[0], [1, 2, 3], [4], [5, 6]]),
        (7, [2, 3], True, [[0, 1], [2, 3, 4], [5, 6]]),
        (6, [2, 3], True, [[0, 1], [2, 3, 4]]),
        (8, np.array([2, 2]), True, [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (5, [3], False, [[0, 1, 2], [3, 4]]),
        (5, 3, False, [[0, 1, 2], [3, 4]]),
        (3, [1, 0, 2], False, [[0], [], [1, 2]]),
        # No batch follows one that the end has cut short, not even one of no elements.
        (4, [2, 0, 3], False, [[0, 1], [], [2, 3]]),
        (4, [2, 0], False, [[0, 1], [], [2, 3], []]),
        (3, [0, 2], False, [[], [0, 1], [], [2]]),
    ],
)
def test_sizes_take_turns(length, sizes, drop_remainder, expected):
    batches = Dataset.range(length).batch(4).rebatch(sizes, drop_remainder)
    assert as_lists(batches) == expected
    assert as_lists(batches.skip(1)) == expected[1:]


def test_the_size_is_known_where_all_are_the_same():
    batches = Dataset.range(8).batch(4)
    assert batches.rebatch([2, 2], True).element_spec == TensorSpec((2,), "int64")
    assert batches.rebatch([1, 3], True).element_spec == TensorSpec((None,), "int64")
    assert int(batches.rebatch([1, 3]).cardinality()) == -2
    assert int(batches.repeat().rebatch([1, 3]).cardinality()) == -1


def test_a_restored_position_knows_whose_turn_it_is():
    batches = Dataset.range(9).batch(4).rebatch([2, 1])
    iterator = iter(batches)
    begun = [next(iterator).tolist() for _ in range(3)]
    restored = iter(batches)
    restored.set_state(iterator.get_state())
    assert begun + [batch.tolist() for batch in restored] == [[0, 1], [2], [3, 4], [5], [6, 7], [8]]


def test_wrong_sizes_are_refused():
    batches = Dataset.range(8).batch(4)
    for sizes in ([0, 0], []):
        with pytest.raises(BadArgumentError, match="rebatch needs a size above 0"):
            batches.rebatch(sizes)
    with pytest.raises(BadArgumentError, match="batch_size has to be an integer of at least 0"):
        batches.rebatch([2, -1])
    with pytest.raises(BadTypeError, match="batch_size has to be an integer"):
        batches.rebatch([[2]])
