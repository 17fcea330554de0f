"""Positions that are noted at the same elements in all processes, whatever each does besides."""

import pytest

from stratax.data.plan import PlanRun
from stratax.data.position import Feed, RegularPositions, one
from tests.data.pipelines import broken, stream


def feed(dataset, every):
    cursor = dataset._node.open(PlanRun())
    return Feed(cursor, one, RegularPositions(cursor, every))


@pytest.mark.parametrize("ahead", [0, 1, 3, 9])
def test_how_far_ahead_somebody_reads_changes_no_position(ahead):
    reference, other = feed(stream(20), 4), feed(stream(20), 4)
    for number in range(1, 20):
        reference.row()
        other.row()
        if number + ahead < 20:
            other.look(ahead, 1)
        state = reference.get_state()
        assert state == other.get_state()
        assert state["skip"] == (number - 1) % 4 + 1


@pytest.mark.parametrize("limit", [1, 3, 64])
def test_no_reading_goes_past_an_element_before_which_a_position_is_due(limit):
    positions = RegularPositions(None, 8)
    read = 0
    for _ in range(20):
        count = positions.room(read, limit)
        assert 1 <= count <= limit
        assert read // 8 == (read + count - 1) // 8
        read += count


def test_the_position_behind_a_failure_is_exact():
    broken_feed = feed(stream(9).map(broken), 100)
    for _ in range(3):
        broken_feed.row()
    with pytest.raises(ValueError, match="element 3"):
        broken_feed.row()
    assert broken_feed.get_state()["skip"] == 0
    again = feed(stream(9).map(broken), 100)
    again.set_state(broken_feed.get_state())
    assert [int(again.row()[0]) for _ in range(5)] == [4, 5, 6, 7, 8]
