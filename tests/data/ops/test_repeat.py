"""`repeat(n)` makes n passes, whatever each of them gives; only an endless one ends at an empty pass."""

import pytest

from stratax.data import Dataset, TextLineDataset


def of_sizes(sizes):
    """A source whose passes have these sizes, and then none."""
    left = iter(sizes)
    return Dataset.from_generator(lambda: range(next(left, 0)), output_types="int64")


def numbers(dataset):
    return [int(x) for x in dataset]


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([0, 1, 2], 3, [0, 0, 1]),
        ([1, 0, 2], 3, [0, 0, 1]),
        ([2, 0, 0, 3], 4, [0, 1, 0, 1, 2]),
        ([0, 0, 0], 3, []),
        ([1, 0, 2], None, [0]),
        ([0, 1, 2], -1, []),
    ],
)
def test_passes_of_different_sizes(sizes, count, expected):
    assert numbers(of_sizes(sizes).repeat(count)) == expected
    assert numbers(of_sizes(sizes).filter(lambda x: True).repeat(count).prefetch(1)) == expected
    assert numbers(of_sizes([*sizes]).repeat(count).skip(1)) == expected[1:]


def test_an_endless_repeat_of_nothing_ends():
    nothing = Dataset.range(3).filter(lambda x: x < 0)
    assert numbers(nothing.repeat()) == []
    assert numbers(Dataset.range(0).repeat()) == []
    assert numbers(nothing.repeat(5)) == []


def test_a_file_that_is_filled_between_two_passes(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("")
    passes = iter(
        TextLineDataset(str(path)).concatenate(Dataset.from_generator(lambda: filled(path), object)).repeat(2)
    )
    assert list(passes) == [b"grown"]


def filled(path):
    if not path.read_text():
        path.write_text("grown\n")
    yield from ()


def test_a_saved_place_behind_an_empty_pass():
    dataset = Dataset.range(4).filter(lambda x: x >= 2).repeat(3)
    iterator = iter(dataset)
    assert [int(next(iterator)) for _ in range(3)] == [2, 3, 2]
    state = iterator.get_state()
    iterator = iter(dataset)
    iterator.set_state(state)
    assert numbers(iterator) == [3, 2, 3]
