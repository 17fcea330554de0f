"""What is held back between two cursors, and the places that are noted on the way."""

import pytest

from stratax.data import Dataset
from stratax.data.plan import PlanRun
from stratax.data.position import Feed, Positions, one
from stratax.errors import DataError
from tests.data.counting import records
from tests.data.pipelines import broken, stream


def opened(dataset):
    return dataset._node.open(PlanRun())


def numbers(block):
    return [int(block.row(i)[0]) for i in range(block.count)]


def test_what_was_peeked_at_stays_until_it_is_passed():
    feed = Feed(opened(Dataset.range(10)), lambda: 4)
    assert numbers(feed.peek(2)) == [0, 1]
    assert feed.num_held == 4
    feed.advance(1)
    assert numbers(feed.peek(2)) == [1, 2]
    assert numbers(feed.read(9)) == [1, 2, 3]
    assert feed.skip(3) == 3
    assert feed.row()[0] == 7
    assert feed.skip(9) == 2
    with pytest.raises(StopIteration):
        feed.peek(1)


def test_the_place_is_behind_what_was_handed_on():
    for passed in range(9):
        feed = Feed(opened(stream(9)), lambda: 4)
        for _ in range(passed):
            feed.row()
        again = Feed(opened(stream(9)), one)
        again.set_state(feed.get_state())
        assert [int(again.row()[0]) for _ in range(9 - passed)] == list(range(passed, 9))


def test_a_failure_stays_in_its_place_until_it_is_passed():
    feed = Feed(opened(stream(6).map(broken)), lambda: 4)
    assert numbers(feed.read(3)) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="element 3"):
            feed.peek(1)
    place = feed.get_state()
    assert feed.skip(1) == 1
    assert numbers(feed.read(4)) == [4, 5]
    again = Feed(opened(stream(6).map(broken)), one)
    again.set_state(place)
    with pytest.raises(ValueError, match="element 3"):
        again.read(1)
    assert numbers(again.read(4)) == [4, 5]


def test_places_are_noted_in_proportion_to_the_work_between_them():
    dataset, source = records(100_000)
    feed = Feed(opened(dataset), lambda: 256)
    for _ in range(50_001):
        feed.row()
    noted = source.states
    place = feed.get_state()
    # A block holds 256, and one took some of a millisecond's work.
    assert 1 <= noted < 200
    assert place["child"]["position"] + place["skip"] == 50_001
    assert source.states == noted


def test_few_places_are_kept_however_far_back_one_may_have_to_go():
    dataset, _ = records(10)
    positions = Positions(opened(dataset))
    for number in range(1000):
        positions.note(number, {"number": number})
    assert len(positions._noted) <= 128
    assert positions.recall(0) == (0, {"number": 0})
    number, state = positions.recall(700)
    assert number == state["number"] <= 700
    assert number > 500


def test_a_source_without_a_place_is_named_when_the_place_is_asked_for():
    def count():
        yield from range(8)

    inner = Dataset.from_generator(count, output_types="int64")
    iterator = iter(stream(2).flat_map(lambda x: inner).shuffle(4))
    next(iterator)
    with pytest.raises(DataError, match=r"can't be saved.*from_generator\(.*count\)"):
        iterator.get_state()
