"""A feed that a thread fills: what is ahead of what was used does not change what it says of itself."""

import pytest

from stratax.data import Dataset
from stratax.data.plan import PlanRun
from stratax.data.position import Feed, ReadAhead, one
from tests.data.pipelines import broken, stream


def opened(dataset, depth=5):
    run = PlanRun()
    return ReadAhead(dataset._node.open(run), depth, run)


@pytest.mark.parametrize("passed", range(9))
def test_its_position_is_behind_what_was_handed_on_and_serves_a_feed(passed):
    ahead = opened(stream(9))
    for _ in range(passed):
        ahead.row()
    place = ahead.get_state()
    ahead.close()
    plain = Feed(stream(9)._node.open(PlanRun()), one)
    for again in (opened(stream(9)), plain):
        again.set_state(place)
        assert [int(again.row()[0]) for _ in range(9 - passed)] == list(range(passed, 9))
        with pytest.raises(StopIteration):
            again.row()


def test_coming_elements_are_looked_at_across_a_failure():
    ahead = opened(stream(6).map(broken))
    block, start, stop = ahead.look(2, 1)
    assert block.slice(start, stop).row(0)[0] == 2
    with pytest.raises(ValueError, match="element 3") as raised:
        ahead.look(3, 1)
    ahead.tell(raised.value)
    assert [int(ahead.row()[0]) for _ in range(5)] == [0, 1, 2, 4, 5]


def test_it_stands_for_a_feed_over_it_and_saves_what_both_would():
    ahead = opened(stream(9))
    both = Feed(opened(stream(9)), one)
    one_cursor = ahead.as_feed(one)
    for _ in range(4):
        both.row()
        one_cursor.row()
    assert set(one_cursor.get_state()["child"]) == set(both.get_state()["child"])
    again = opened(stream(9)).as_feed(one)
    again.set_state(both.get_state())
    assert [int(again.row()[0]) for _ in range(5)] == [4, 5, 6, 7, 8]
    later = Feed(opened(stream(9)), one)
    later.set_state(one_cursor.get_state())
    assert [int(later.row()[0]) for _ in range(5)] == [4, 5, 6, 7, 8]


def test_datasets_that_are_read_ahead_by_themselves_take_turns_and_go_on():
    def pipeline():
        return Dataset.range(3).interleave(lambda x: stream(5).map(lambda y: 10 * x + y).prefetch(2), 2, 2)

    whole = [int(x) for x in pipeline()]
    for taken in range(len(whole)):
        iterator, restored = iter(pipeline()), iter(pipeline())
        for _ in range(taken):
            next(iterator)
        restored.set_state(iterator.get_state())
        assert [int(x) for x in restored] == whole[taken:]
