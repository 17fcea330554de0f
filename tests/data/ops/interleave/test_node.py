"""interleave: TensorFlow's order, with and without threads."""

import threading
import time

import numpy as np
import pytest

from stratax.data import AUTOTUNE, Dataset, TensorSpec
from stratax.data.ops.interleave import _node
from stratax.data.plan import _arguments
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.pipelines import stream
from tests.data.reference import as_lists


def in_turns(lists, cycle_length, block_length):
    """The order that TensorFlow documents, written down plainly."""
    coming = [iter(numbers) for numbers in lists]
    places = [None] * cycle_length
    found = []
    while coming or any(place is not None for place in places):
        for i in range(cycle_length):
            if places[i] is None and coming:
                places[i] = coming.pop(0)
            for _ in range(block_length if places[i] is not None else 0):
                try:
                    found.append(next(places[i]))
                except StopIteration:
                    places[i] = None
                    break
    return found


LENGTHS = [3, 0, 7, 1, 5, 12, 2, 0, 4]
LISTS = [[100 * i + k for k in range(length)] for i, length in enumerate(LENGTHS)]


@pytest.mark.parametrize("threads", [None, 2, AUTOTUNE])
@pytest.mark.parametrize(("cycle", "block"), [(1, 1), (2, 1), (3, 2), (4, 1), (4, 5), (9, 3), (20, 1)])
@pytest.mark.parametrize("limit", [1, 64])
def test_the_order_is_that_of_tensorflow(cycle, block, threads, limit):
    dataset = Dataset.range(len(LISTS)).interleave(
        lambda i: Dataset.range(100 * i, 100 * i + LENGTHS[int(i)]), cycle, block, threads
    )
    found = (
        as_lists(dataset) if limit == 1 else [x for batch in as_lists(dataset.batch(limit)) for x in batch]
    )
    assert found == in_turns(LISTS, cycle, block)


def test_the_example_of_tensorflows_documentation():
    dataset = Dataset.range(1, 6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4
    )
    assert as_lists(dataset) == [
        *([1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2]),
        *([3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4]),
        *([5, 5, 5, 5, 5, 5]),
    ]


def test_the_cycle_length_follows_tensorflows_rule(monkeypatch):
    for module in (_arguments, _node):
        monkeypatch.setattr(module, "num_cores", lambda: 8)
    cycles = {
        calls: Dataset.range(2).interleave(Dataset.range, num_parallel_calls=calls)._node.describe()
        for calls in (None, AUTOTUNE, 5, 100)
    }
    assert cycles == {
        None: "Interleave(8, 1)",
        AUTOTUNE: "Interleave(3, 1)",
        5: "Interleave(5, 1)",
        100: "Interleave(8, 1)",
    }


def test_arrays_strings_and_structures_keep_their_form():
    def rows(i):
        return Dataset.from_tensor_slices({"a": np.full((3, 2), i), "b": [b"x\0"] * 3})

    dataset = Dataset.range(4).interleave(rows, 2)
    assert dataset.element_spec == {"a": TensorSpec((2,), "int64"), "b": TensorSpec((), object)}
    batch = next(iter(dataset.batch(4)))
    assert batch["a"].tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    assert batch["b"].tolist() == [b"x\0"] * 4
    ragged = Dataset.range(4).interleave(lambda i: Dataset.range(3).map(lambda x: np.zeros(int(i))), 4)
    assert [row.shape for row in ragged.take(6)] == [(0,), (1,), (2,), (3,), (0,), (1,)]


def test_threads_read_several_datasets_at_a_time_and_end():
    before = set(threading.enumerate())
    together, most, changed = set(), [0], threading.Condition()

    def waiting(x):
        with changed:
            together.add(threading.get_ident())
            most[0] = max(most[0], len(together))
            changed.notify_all()
            assert changed.wait_for(lambda: most[0] >= 2, 60)
        time.sleep(0.005)  # Time for more of them, if there are more threads.
        with changed:
            together.discard(threading.get_ident())
        return x

    def datasets(i):
        return Dataset.range(i, i + 6).map(waiting)

    dataset = Dataset.range(0, 60, 10).interleave(datasets, 4, num_parallel_calls=3)
    with iter(dataset) as iterator:
        found = [int(x) for x in iterator]
    assert found == in_turns([list(range(i, i + 6)) for i in range(0, 60, 10)], 4, 1)
    assert 2 <= most[0] <= 3
    assert set(threading.enumerate()) <= before


def test_what_is_wrong_is_said():
    with pytest.raises(BadArgumentError, match="cycle_length has to be positive or AUTOTUNE"):
        Dataset.range(3).interleave(Dataset.range, 0)
    with pytest.raises(BadArgumentError, match="block_length has to be an integer of at least 1"):
        Dataset.range(3).interleave(Dataset.range, 2, 0)
    with pytest.raises(BadTypeError, match="interleave has to return a Dataset.*returned int64"):
        list(Dataset.range(3).interleave(lambda x: x, 2))
    with pytest.raises(DataError, match="an interleave over an empty Dataset"):
        _ = stream(0).window(2).interleave(lambda window: window, 2).element_spec


@pytest.mark.parametrize("threads", [None, 2])
def test_errors_come_in_their_place_and_the_others_go_on(threads):
    def failing(i):
        if i == 1:
            raise ValueError("no such file")
        return Dataset.range(i, i + 3).map(lambda x: 1 // int(x - 3))

    iterator = iter(Dataset.range(4).interleave(failing, 2, 1, threads))
    found = []
    while True:
        try:
            found.append(int(next(iterator)))
        except StopIteration:
            break
        except (ValueError, ZeroDivisionError) as e:
            found.append(type(e).__name__)
    assert found == [-1, "ValueError", -1, -1, "ZeroDivisionError", -1, 1, "ZeroDivisionError", 1, 0]


@pytest.mark.parametrize(("saved", "restored"), [(None, 2), (2, None), (2, 4)])
def test_a_place_is_found_again_with_another_number_of_threads(saved, restored):
    def numbers(threads):
        return Dataset.range(len(LISTS)).interleave(
            lambda i: Dataset.range(100 * i, 100 * i + LENGTHS[int(i)]).filter(lambda x: x >= 0),
            3,
            2,
            threads,
        )

    expected = in_turns(LISTS, 3, 2)
    for count in range(0, len(expected) + 1, 3):
        with iter(numbers(saved)) as iterator:
            for _ in range(count):
                next(iterator)
            state = iterator.get_state()
        with iter(numbers(restored)) as iterator:
            iterator.set_state(state)
            assert [int(x) for x in iterator] == expected[count:]
