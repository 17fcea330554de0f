"""`map` in worker processes: the same elements as in this one."""

import collections
import gc
import os
import random
import sys
import threading
import time

import cloudpickle
import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec, TFRecordDataset, TFRecordWriter
from stratax.data.elements._random import element_generator
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.processes import children, wait_until_none_is_left

pytestmark = pytest.mark.processes
# A worker can't import what pytest has imported.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Point = collections.namedtuple("Point", "x y")


def streaming(dataset):
    return dataset.filter(lambda *element: True)


def equal(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_equal(a, b)


@pytest.fixture(autouse=True)
def _none_of_another_test():
    assert wait_until_none_is_left() == []


@pytest.mark.parametrize("prepare", [lambda dataset: dataset, streaming], ids=["indexable", "streaming"])
def test_elements_and_their_order_are_those_of_one_process(prepare):
    def function(i):
        time.sleep(0.002 * int(i % 3))
        ragged = np.arange(i % 4, dtype=np.float32)
        return {
            "point": Point(i * 2, np.full([2, 2], i, np.uint8)),
            "text": f"{i}".encode(),
            "ragged": ragged,
            "no": None,
        }

    dataset = prepare(Dataset.range(60))
    expected = dataset.map(function)
    made = dataset.map(function, num_processes=2)
    equal(list(made), list(expected))
    assert made.element_spec == expected.element_spec
    equal(
        [e["text"] for e in made.map(lambda e: {"text": e["text"]}).batch(7)],
        [e["text"] for e in expected.map(lambda e: {"text": e["text"]}).batch(7)],
    )


def test_what_is_drawn_at_random_is_the_same_as_in_one_process():
    def draw(i):
        return i, element_generator().integers(1 << 40), element_generator(seed=3).normal()

    def run(**how):
        random.seed(5)
        dataset = Dataset.range(20).map(draw, **how).shuffle(20, seed=1).repeat(2)
        return list(dataset), list(streaming(Dataset.range(9)).map(draw, **how).repeat(2))

    for made, expected in zip(run(num_processes=2), run(), strict=True):
        equal(made, expected)
        assert len({int(drawn) for _, drawn, _ in made}) == len(made)


@pytest.mark.parametrize("prepare", [lambda dataset: dataset, streaming], ids=["indexable", "streaming"])
def test_a_restored_iterator_goes_on_with_the_very_next_element(prepare):
    def draw(i):
        return i, element_generator().integers(1 << 40)

    def build():
        return prepare(Dataset.range(40)).map(draw, num_processes=2).shuffle(7, seed=3).repeat(2).batch(3)

    iterator = iter(build())
    for _ in range(6):
        next(iterator)
    state = iterator.get_state()
    rest = list(iterator)
    again = iter(build())
    again.set_state(state)
    equal(list(again), rest)


def test_an_error_keeps_type_message_and_traceback_and_names_the_element():
    def function(i):
        if i in (5, 9):
            raise KeyError("no such class", int(i))
        return i

    for dataset in (Dataset.range(12), streaming(Dataset.range(12))):
        iterator = iter(dataset.map(function, num_processes=2))
        seen = []
        for _ in range(12):
            try:
                seen.append(int(next(iterator)))
            except KeyError as error:
                seen.append(error)
        with pytest.raises(StopIteration):
            next(iterator)
        assert [i for i in seen if isinstance(i, int)] == [0, 1, 2, 3, 4, 6, 7, 8, 10, 11]
        error = seen[5]
        assert error.args == ("no such class", 5)
        (note,) = error.__notes__
        assert "failed on element 5 of its input, TensorSpec(" in note
        assert "In worker process" in note
        assert 'raise KeyError("no such class", int(i))' in note


def test_an_error_of_the_users_own_class_can_be_caught():
    class OwnError(Exception):
        pass

    def function(i):
        raise OwnError("mine")

    with pytest.raises(OwnError, match="mine"):
        next(iter(streaming(Dataset.range(3)).map(function, num_processes=1)))


def test_an_error_that_can_not_be_sent_becomes_one_that_can():
    class Stubborn(Exception):
        def __init__(self, first, second):
            super().__init__(f"{first} and {second}")

    def function(i):
        raise Stubborn("one", "other")

    with pytest.raises(RuntimeError, match="Stubborn: one and other") as caught:
        next(iter(streaming(Dataset.range(3)).map(function, num_processes=1)))
    assert "raise Stubborn" in caught.value.__notes__[0]


def test_results_that_differ_in_dtype_are_refused_as_in_one_process():
    made = Dataset.range(9).map(lambda i: np.float32(i) if i != 4 else np.int32(i), num_processes=2)
    with pytest.raises(DataError, match="gave elements of different dtype"):
        list(made)


def test_a_function_that_makes_datasets_is_refused():
    from stratax import data

    with pytest.raises(DataError, match="Leave num_processes out where a function makes Datasets"):
        list(Dataset.range(3).map(lambda i: data.Dataset.range(i), num_processes=1))


@pytest.mark.parametrize("how", [{"num_processes": 0}, {"num_processes": 2, "num_parallel_calls": 2}])
def test_arguments_that_do_not_fit_are_refused(how):
    with pytest.raises(BadArgumentError, match="takes the place of num_parallel_calls"):
        Dataset.range(3).map(lambda i: i, **how)


def test_a_number_of_processes_that_is_none_is_refused():
    with pytest.raises(BadTypeError, match="num_processes has to be an integer"):
        Dataset.range(3).map(lambda i: i, num_processes="two")


def test_a_function_that_can_not_be_sent_is_refused():
    lock = threading.Lock()

    def function(i):
        with lock:
            return i

    with pytest.raises(BadTypeError, match="can't be sent to worker processes"):
        next(iter(Dataset.range(3).map(function, num_processes=1)))


def test_it_runs_in_other_processes_and_they_end_with_the_iterator(tmp_path):
    here = os.getpid()

    def meet(i):
        if os.getpid() != here:
            (tmp_path / str(os.getpid())).touch()
            deadline = time.monotonic() + 60
            while len(os.listdir(tmp_path)) < 2 and time.monotonic() < deadline:
                time.sleep(0.005)  # One of them may be quicker to start than the other.
        return os.getpid()

    iterator = iter(Dataset.range(40).map(meet, num_processes=2))
    pids = {int(next(iterator)) for _ in range(40)}
    assert os.getpid() not in pids
    assert len(pids) == 2
    assert {child.pid for child in children()} >= pids
    iterator.close()
    assert children() == []


@pytest.mark.parametrize("prepare", [lambda dataset: dataset, streaming], ids=["indexable", "streaming"])
def test_the_processes_end_at_the_last_element_and_when_nobody_holds_the_iterator(prepare):
    dataset = prepare(Dataset.range(10)).map(lambda i: i + 1, num_processes=2)
    assert len(list(dataset)) == 10
    assert wait_until_none_is_left() == []
    iterator = iter(dataset)
    next(iterator)
    assert children()
    del iterator
    gc.collect()
    assert wait_until_none_is_left() == []


def test_only_so_much_is_read_ahead():
    taken = []

    def source():
        for i in range(100_000):
            taken.append(i)
            yield i

    dataset = Dataset.from_generator(source, output_signature=TensorSpec([], np.int64))
    with iter(dataset.map(lambda i: (time.sleep(0.01), i)[1], num_processes=2)) as iterator:
        for _ in range(10):
            next(iterator)
        assert len(taken) <= 10 + 4 * 5


@pytest.mark.parametrize("index", [False, True])
def test_a_failure_in_a_worker_names_the_record_that_it_came_from(tmp_path, index):
    path = str(tmp_path / "a.tfrecord")
    with TFRecordWriter(path) as writer:
        for number in range(20):
            writer.write(str(number).encode())

    def parse(record):
        if record == b"7":
            raise ValueError("no seven")
        return int(record)

    with pytest.raises(ValueError, match="no seven") as caught:
        list(TFRecordDataset(path, index=index).map(parse, num_processes=2))
    assert any(f"It came from record 7 of {path!r}, at byte" in note for note in caught.value.__notes__)
