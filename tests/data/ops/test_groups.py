"""Elements of one key are put together."""

from stratax.data import Dataset


def test_windows_hold_elements_of_one_key():
    grouped = Dataset.range(6).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3)
    assert [batch.tolist() for batch in grouped] == [[0, 2, 4], [1, 3, 5]]


def test_what_is_left_of_a_window_comes_at_the_end():
    grouped = Dataset.range(5).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3)
    assert [batch.tolist() for batch in grouped] == [[0, 2, 4], [1, 3]]
