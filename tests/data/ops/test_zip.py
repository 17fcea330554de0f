"""`zip`."""

from stratax.data import INFINITE_CARDINALITY, Dataset


def test_zip_is_as_long_as_the_shortest_and_takes_structures():
    a, b = Dataset.range(3), Dataset.range(10, 15)
    assert [tuple(map(int, pair)) for pair in Dataset.zip(a, b)] == [(0, 10), (1, 11), (2, 12)]
    assert list(Dataset.zip((a, b))) == list(Dataset.zip(a, b))
    assert list(Dataset.zip(datasets=(a, b))) == list(Dataset.zip(a, b))
    nested = Dataset.zip({"x": a, "y": (b, a)})
    assert next(iter(nested)) == {"x": 0, "y": (10, 0)}
    assert len(nested) == 3
    assert Dataset.zip(a.repeat(), b.repeat()).cardinality() == INFINITE_CARDINALITY


def test_zipped_batches_stack_in_blocks():
    a = Dataset.range(7).batch(3)
    both = iter(Dataset.zip(a, a.map(lambda x: x * 2)))
    (x, y), count = both.next_block(5)
    assert count == 2
    assert x.shape == y.shape == (2, 3)
    (x, _), count = both.next_block(5)
    assert (count, x.tolist()) == (1, [[6]])
