"""A pass over arrays gives Keras' own batches, from the same random numbers, in blocks of any size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

from stratax.keras._array_pass import ArrayPass


def _adapter(examples, batch, shuffle):
    x = {"a": np.arange(examples * 3.0).reshape(examples, 3), "b": np.arange(examples)}
    return ArrayDataAdapter(x, y=np.arange(examples, 0, -1), batch_size=batch, shuffle=shuffle)


def _keras_batches(adapter):
    np.random.seed(3)
    return [(x["a"], x["b"], y) for x, y in adapter.get_numpy_iterator()]


@settings(max_examples=60, deadline=None)
@given(
    examples=st.integers(1, 23),
    batch=st.integers(1, 9),
    shuffle=st.sampled_from([False, True, "batch"]),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_blocks_hold_the_batches_that_keras_gives(examples, batch, shuffle, sizes):
    adapter = _adapter(examples, batch, shuffle)
    expected = _keras_batches(adapter)
    np.random.seed(3)
    reader = ArrayPass(adapter)
    found = []
    while len(found) < len(expected):
        (x, y), count = reader.next_block(sizes[len(found) % len(sizes)])
        assert 1 <= count <= 5
        found += [(x["a"][i], x["b"][i], y[i]) for i in range(count)]
    with pytest.raises(StopIteration):
        reader.next_block(1)
    for ours, theirs in zip(found, expected, strict=True):
        for left, right in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(left, right)


def test_the_rest_of_a_pass_comes_alone():
    reader = ArrayPass(_adapter(10, 4, False))
    assert reader.next_block(5)[1] == 2
    (x, y), count = reader.next_block(5)
    assert count == 1
    assert x["a"].shape == (1, 2, 3)
    assert y.shape == (1, 2)


def test_iterating_gives_single_batches():
    batches = list(ArrayPass(_adapter(10, 4, False)))
    assert [y.shape for _, y in batches] == [(4,), (4,), (2,)]


def test_one_order_serves_a_whole_pass_and_another_the_next():
    adapter = _adapter(12, 4, True)
    first, second = (np.concatenate([x["b"] for x, _ in ArrayPass(adapter)]) for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(12))
    assert not np.array_equal(first, second)


def test_blocks_of_arrays_in_their_order_are_views():
    x = np.zeros((8, 2), np.float32)
    reader = ArrayPass(ArrayDataAdapter(x, y=np.zeros(8), batch_size=2, shuffle=False))
    (block, _), _ = reader.next_block(3)
    assert np.shares_memory(block, x)
