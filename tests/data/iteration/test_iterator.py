"""The iterator: positions that can be saved, blocks, and a clean end."""

import json
import threading

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.errors import BadArgumentError, DataError

ROWS = np.arange(46, dtype=np.float32).reshape(23, 2)


def pipeline():
    labels = Dataset.range(23)
    dataset = Dataset.zip(Dataset.from_tensor_slices(ROWS), labels).shuffle(5)
    return dataset.map(lambda x, y: (x * 2, y)).repeat(3).batch(4)


def streaming():
    return Dataset.range(40).shuffle(40).filter(lambda x: x % 3 > 0).shuffle(6).repeat(2).batch(4)


def as_text(element):
    return repr(element)


def random_numbers():
    numbers = Dataset.random(rerandomize_each_iteration=True)
    return Dataset.zip(numbers, Dataset.random()).take(50).shuffle(50).cache().batch(4)


@pytest.mark.parametrize("make", [pipeline, streaming, random_numbers, lambda: pipeline().prefetch(3)])
@pytest.mark.parametrize("stop", [0, 1, 5, 11])
def test_a_new_process_would_go_on_where_the_old_one_stopped(make, stop):
    dataset = make()
    list(dataset)
    iterator = iter(dataset)
    for _ in range(stop):
        next(iterator)
    state = json.loads(json.dumps(iterator.get_state()))
    rest = [as_text(element) for element in iterator]
    following = [as_text(element) for element in dataset]

    again = make()
    restored = iter(again)
    restored.set_state(state)
    assert [as_text(element) for element in restored] == rest
    assert [as_text(element) for element in again] == following


def test_the_state_counts_delivered_elements_only():
    iterator = iter(Dataset.range(100).prefetch(10))
    for _ in range(3):
        next(iterator)
    iterator.next_block(4)
    assert iterator.get_state()["position"] == 7
    iterator.close()


def test_the_state_is_small():
    iterator = iter(Dataset.range(10_000_000).shuffle(10).batch(100))
    next(iterator)
    assert len(json.dumps(iterator.get_state())) < 300


def test_going_to_a_position_reads_nothing_before_it():
    seen = []
    dataset = Dataset.range(1000).map(lambda x: seen.append(int(x)) or x)
    iterator = iter(dataset)
    state = iterator.get_state() | {"position": 990}
    iterator.set_state(state)
    assert next(iterator) == 990
    assert seen == [990]


def test_a_generator_says_that_its_position_is_unknown():
    def numbers():
        yield from range(3)

    dataset = Dataset.from_generator(numbers, output_signature=TensorSpec((), "int64")).batch(2)
    with pytest.raises(DataError, match=r"can't be saved.*from_generator\(.*numbers\)"):
        iter(dataset).get_state()


def test_a_state_of_another_pipeline_is_refused():
    iterator = iter(Dataset.range(10).batch(2))
    with pytest.raises(DataError, match="belongs to another pipeline"):
        iterator.set_state(iter(Dataset.range(10).batch(5)).get_state())
    with pytest.raises(DataError, match="has the keys"):
        iterator.set_state({"position": 3})
    for wrong in (
        {"position": -1},
        {"position": 2.5},
        {"seeds": None},
        {"seeds": ["1"]},
        {"iteration": None},
    ):
        with pytest.raises(DataError, match="has the keys"):
            iterator.set_state(iterator.get_state() | wrong)
    assert next(iterator).tolist() == [0, 1]
    stream = iter(streaming())
    with pytest.raises(DataError, match=r"saved position could not be reached.*KeyError\('number'\)"):
        stream.set_state(stream.get_state() | {"place": {"child": {"nothing": 1}, "skip": 0}})


@pytest.mark.parametrize(
    "make",
    [
        lambda data: data.shuffle(20, seed=1),
        lambda data: data.interleave(lambda x: Dataset.range(3), 2),
        lambda data: data.map(int, num_parallel_calls=2).prefetch(3),
    ],
)
def test_data_that_end_before_the_place_are_an_error_and_close_the_iterator(make):
    threads = set(threading.enumerate())
    data = list(range(100))
    dataset = make(Dataset.from_tensor_slices(data).filter(lambda x: x < len(data)))
    with iter(dataset) as iterator:
        for _ in range(50):
            next(iterator)
        state = iterator.get_state()
    del data[5:]
    restored = iter(dataset)
    with pytest.raises(DataError, match="could not be reached|data end before the saved position"):
        restored.set_state(state)
    assert list(restored) == []
    assert set(threading.enumerate()) <= threads


def test_next_block_gathers_batches_and_leaves_the_short_one_alone():
    iterator = iter(Dataset.from_tensor_slices({"x": ROWS}).batch(4))
    shapes = []
    while True:
        try:
            stacked, count = iterator.next_block(3)
        except StopIteration:
            break
        shapes.append((stacked["x"].shape, count))
    assert shapes == [((3, 4, 2), 3), ((2, 4, 2), 2), ((1, 3, 2), 1)]
    with pytest.raises(StopIteration):
        iterator.next_block(1)


@pytest.mark.parametrize("depth", [0, 1, 2, 7])
def test_blocks_and_steps_can_alternate(depth):
    iterator = iter(Dataset.range(50).prefetch(depth))
    found = [int(next(iterator))]
    for k in (3, 1, 10, 2):
        found.extend(iterator.next_block(k)[0].tolist())
        found.append(int(next(iterator)))
    assert found == list(range(21))
    iterator.close()


def test_blocks_of_a_stream_are_stacked_up_to_another_shape():
    stream = Dataset.range(10).filter(lambda x: x >= 0).batch(4)
    iterator = iter(stream)
    stacked, count = iterator.next_block(5)
    assert (stacked.shape, count) == ((2, 4), 2)
    stacked, count = iterator.next_block(5)
    assert (stacked.tolist(), count) == ([[8, 9]], 1)


def test_an_exception_comes_after_the_block_before_it():
    dataset = Dataset.range(6).map(lambda x: x if x != 4 else {}[4])
    for one in (dataset, dataset.filter(lambda x: x >= 0), dataset.prefetch(2)):
        iterator = iter(one)
        found = []
        while len(found) < 4:
            found.extend(iterator.next_block(3)[0].tolist())
        assert found == [0, 1, 2, 3]
        with pytest.raises(KeyError):
            iterator.next_block(3)
        iterator.close()


def test_a_block_has_at_least_one_element():
    with pytest.raises(BadArgumentError, match="at least one element"):
        iter(Dataset.range(3)).next_block(0)


def test_a_with_block_closes_the_iterator():
    before = set(threading.enumerate())
    with iter(Dataset.range(100).prefetch(2)) as iterator:
        assert next(iterator) == 0
    assert set(threading.enumerate()) <= before
    assert list(iterator) == []


def test_elements_belong_to_the_caller():
    dataset = Dataset.from_tensor_slices(ROWS.copy())
    for copies in (dataset, dataset.batch(5), dataset.map(lambda x: x).batch(5), dataset.cache()):
        first = next(iter(copies))
        first[...] = -1
        assert next(iter(copies)).min() >= 0


def test_two_iterators_of_one_dataset_do_not_disturb_each_other():
    dataset = Dataset.range(10).map(lambda x: x + 1).batch(3)
    pairs = zip(iter(dataset), iter(dataset), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def test_the_iterator_knows_its_spec():
    assert iter(Dataset.range(10).batch(5)).element_spec == TensorSpec((5,), "int64")
