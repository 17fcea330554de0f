"""`shuffle(UNKNOWN_CARDINALITY)` draws from all elements, as in TensorFlow."""

import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError


def test_all_elements_of_a_stream_are_shuffled_together():
    stream = tf.data.Dataset.range(500).filter(lambda x: x % 2 == 0)
    dataset = stream.shuffle(stream.cardinality(), seed=1)
    found = [int(x) for x in dataset]
    assert sorted(found) == list(range(0, 500, 2))
    assert max(found[:20]) > 250
    assert found == [int(x) for x in stream.shuffle(1000, seed=1)]
    assert [int(x) for x in dataset] != found


def test_a_position_in_it_is_exact():
    stream = tf.data.Dataset.range(50).filter(lambda x: x >= 0)
    dataset = stream.shuffle(tf.data.UNKNOWN_CARDINALITY, seed=3)
    iterator = iter(dataset)
    for _ in range(20):
        next(iterator)
    rest = [int(x) for x in iterator]
    again = iter(stream.shuffle(tf.data.UNKNOWN_CARDINALITY, seed=3))
    for _ in range(20):
        next(again)
    third = iter(stream.shuffle(tf.data.UNKNOWN_CARDINALITY, seed=3))
    third.set_state(again.get_state())
    assert [int(x) for x in third] == rest


def test_an_indexable_dataset_is_permuted():
    assert sorted(int(x) for x in tf.data.Dataset.range(9).shuffle(tf.data.UNKNOWN_CARDINALITY)) == list(
        range(9)
    )


@pytest.mark.parametrize("size", [0, -1, -3])
def test_other_sizes_stay_errors(size):
    with pytest.raises(BadArgumentError, match="buffer_size has to be an integer of at least 1"):
        tf.data.Dataset.range(9).shuffle(size)


def test_data_without_an_end_are_refused():
    stream = tf.data.Dataset.range(9).filter(lambda x: x > 3).repeat()
    with pytest.raises(BadArgumentError, match="these have no end.*Shuffle before repeat"):
        stream.shuffle(tf.data.UNKNOWN_CARDINALITY)
