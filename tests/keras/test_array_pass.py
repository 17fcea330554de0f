"""A pass over arrays gives Keras' own batches, from the same random numbers, in blocks of any size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

from stratax import errors
from stratax.keras._array_pass import ArrayPasses


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
    reader = iter(ArrayPasses(adapter))
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
    reader = iter(ArrayPasses(_adapter(10, 4, False)))
    assert reader.next_block(5)[1] == 2
    (x, y), count = reader.next_block(5)
    assert count == 1
    assert x["a"].shape == (1, 2, 3)
    assert y.shape == (1, 2)


def test_iterating_gives_single_batches():
    batches = list(ArrayPasses(_adapter(10, 4, False)))
    assert [y.shape for _, y in batches] == [(4,), (4,), (2,)]


def test_one_order_serves_a_whole_pass_and_another_the_next():
    passes = ArrayPasses(_adapter(12, 4, True))
    first, second = (np.concatenate([x["b"] for x, _ in passes]) for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(12))
    assert not np.array_equal(first, second)


def test_blocks_of_arrays_in_their_order_are_views():
    x = np.zeros((8, 2), np.float32)
    reader = iter(ArrayPasses(ArrayDataAdapter(x, y=np.zeros(8), batch_size=2, shuffle=False)))
    (block, _), _ = reader.next_block(3)
    assert np.shares_memory(block, x)


def _rows(batches):
    return [x["b"].tolist() for x, _ in batches]


@pytest.mark.parametrize("shuffle", [True, "batch"])
def test_the_order_of_a_pass_is_a_function_of_the_first_random_state_and_its_number(shuffle):
    np.random.seed(4)
    passes = ArrayPasses(_adapter(11, 4, shuffle))
    orders = []
    for _ in range(3):
        orders.append(_rows(passes))
        np.random.normal(size=5)  # Somebody else draws.
    assert orders[0] != orders[1] != orders[2]
    np.random.seed(4)
    later = ArrayPasses(_adapter(11, 4, shuffle))
    later.skip(2)
    assert _rows(later) == orders[2]


def test_the_next_passes_in_another_fit_have_other_orders_whoever_drew_meanwhile():
    for draws in (0, 5):
        np.random.seed(4)
        first = ArrayPasses(_adapter(11, 4, True))
        next(iter(first))
        np.random.normal(size=draws)
        orders = _rows(first)
        assert _rows(ArrayPasses(_adapter(11, 4, True))) != orders


@pytest.mark.parametrize("shuffle", [False, True, "batch"])
def test_a_position_is_gone_back_to_and_the_passes_after_it_follow(shuffle):
    np.random.seed(4)
    passes = ArrayPasses(_adapter(11, 4, shuffle))
    reader = iter(passes)
    next(reader)
    state = reader.get_state()
    rest, after = _rows(reader), _rows(passes)
    np.random.seed(9)
    others = ArrayPasses(_adapter(11, 4, shuffle))
    restored = iter(others)
    restored.set_state(state)
    assert (_rows(restored), _rows(others)) == (rest, after)


def test_a_position_in_other_arrays_is_refused():
    state = iter(ArrayPasses(_adapter(11, 4, True))).get_state()
    with pytest.raises(errors.DataError, match="Expected: arrays of 11 in batches of 5, shuffle=True"):
        iter(ArrayPasses(_adapter(11, 5, True))).set_state(state)
