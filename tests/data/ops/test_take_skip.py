"""`take` and `skip` count like TensorFlow."""

from stratax.data import Dataset
from tests.data.reference import as_lists


def test_take_and_skip_count_like_tensorflow():
    assert as_lists(Dataset.range(4).take(-1)) == [0, 1, 2, 3]
    assert as_lists(Dataset.range(4).skip(-1)) == []
    assert as_lists(Dataset.range(4).repeat().skip(2).take(4)) == [2, 3, 0, 1]
