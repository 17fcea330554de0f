"""Files one after another and several in turn: TensorFlow's order, and places that are found again."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import (
    AUTOTUNE,
    Dataset,
    FixedLengthRecordDataset,
    TensorSpec,
    TextLineDataset,
    TFRecordDataset,
    TFRecordWriter,
)
from stratax.data.plan import PlanRun
from stratax.errors import DataError, DataLossError, FileMissingError

COUNTS = [5, 1, 3, 0, 4, 2]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for i, count in enumerate(COUNTS):
        with TFRecordWriter(folder / str(i)) as writer:
            for j in range(count):
                writer.write(f"{i}.{j}".encode())
    return [str(folder / str(i)) for i in range(len(COUNTS))]


# What TensorFlow 2.21 gives for num_parallel_reads of 1, 2, 3, 4 and 10.
IN_TURN = {
    1: "0.0 0.1 0.2 0.3 0.4 1.0 2.0 2.1 2.2 4.0 4.1 4.2 4.3 5.0 5.1",
    2: "0.0 1.0 0.1 0.2 2.0 0.3 2.1 0.4 2.2 4.0 5.0 4.1 5.1 4.2 4.3",
    3: "0.0 1.0 2.0 0.1 2.1 0.2 2.2 0.3 4.0 0.4 4.1 5.0 4.2 5.1 4.3",
    4: "0.0 1.0 2.0 0.1 2.1 4.0 0.2 5.0 2.2 4.1 0.3 5.1 4.2 0.4 4.3",
    10: "0.0 1.0 2.0 4.0 5.0 0.1 2.1 4.1 5.1 0.2 2.2 4.2 0.3 4.3 0.4",
}


@pytest.mark.parametrize("num_parallel", IN_TURN)
def test_files_are_read_in_tensorflows_order(names, num_parallel):
    expected = IN_TURN[num_parallel].encode().split()
    assert list(TFRecordDataset(names, num_parallel_reads=num_parallel)) == expected
    for size in (1, 2, 7, 100):
        batches = TFRecordDataset(names, num_parallel_reads=num_parallel).batch(size)
        assert np.concatenate(list(batches)).tolist() == expected


def test_autotune_reads_every_record(names):
    assert sorted(TFRecordDataset(names, None, None, AUTOTUNE)) == sorted(TFRecordDataset(names))


def of(cursor, size=1):
    """What is left, in blocks of at most `size`."""
    found = []
    while True:
        try:
            block = cursor.read(size)
        except StopIteration:
            cursor.close()
            return found
        except (DataLossError, FileMissingError) as e:
            found.append(type(e).__name__)
        else:
            found += block.columns()[0].tolist()


def rewrite(source, target, change):
    with open(source, "rb") as file:
        content = bytearray(file.read())
    change(content)
    target.write_bytes(content)
    return str(target)


def cut(content):
    del content[-3:]


def flip_data(content):
    content[19 + 12] ^= 1


def flip_length(content):
    content[19] ^= 1


@pytest.fixture(scope="module")
def broken(names, tmp_path_factory):
    """The files, some of them damaged or missing."""
    folder = tmp_path_factory.mktemp("broken")
    changed = [
        rewrite(names[0], folder / "flip", flip_data),
        rewrite(names[2], folder / "cut", cut),
        rewrite(names[4], folder / "length", flip_length),
    ]
    return [changed[0], names[1], str(folder / "nothing"), changed[1], names[3], changed[2], names[5]]


@pytest.mark.parametrize("num_parallel", [1, 2, 3, 10])
@pytest.mark.parametrize("files", ["names", "broken"])
def test_a_place_is_found_again(request, files, num_parallel):
    source = TFRecordDataset(request.getfixturevalue(files), num_parallel_reads=num_parallel)._node
    whole = of(source.open(PlanRun()))
    for count in range(len(whole) + 2):
        cursor = source.open(PlanRun())
        assert cursor.skip(count) == min(count, len(whole))
        for _ in range(2):
            state = cursor.get_state()
            cursor.close()
            cursor = source.open(PlanRun())
            cursor.set_state(state)
        assert of(cursor, 3) == whole[count:]


@pytest.mark.parametrize("num_parallel", [1, 3])
def test_errors_cost_no_more_than_they_have_to(broken, num_parallel):
    found = of(TFRecordDataset(broken, num_parallel_reads=num_parallel)._node.open(PlanRun()))
    assert sorted(str(x) for x in found if isinstance(x, str)) == ["DataLossError"] * 3 + ["FileMissingError"]
    assert sorted(x for x in found if isinstance(x, bytes)) == [
        *(b"0.0", b"0.2", b"0.3", b"0.4"),
        *(b"1.0", b"2.0", b"2.1"),
        *(b"4.0", b"5.0", b"5.1"),
    ]


@given(
    counts=st.lists(st.integers(0, 6), max_size=6),
    num_parallel=st.integers(1, 4),
    reads=st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=8),
    buffer_size=st.integers(1, 60),
)
@settings(max_examples=60, deadline=None)
def test_reading_skipping_and_restoring_agree(tmp_path_factory, counts, num_parallel, reads, buffer_size):
    folder = tmp_path_factory.mktemp("any")
    for i, count in enumerate(counts):
        with TFRecordWriter(folder / str(i)) as writer:
            for j in range(count):
                writer.write(f"{i}.{j}".encode() * j)
    files = [folder / str(i) for i in range(len(counts))]
    source = TFRecordDataset(files, None, buffer_size, num_parallel)._node
    whole = of(source.open(PlanRun()))
    cursor, at = source.open(PlanRun()), 0
    for is_skip, size in reads:
        if is_skip:
            passed = cursor.skip(size)
            assert passed == min(size, len(whole) - at)
        else:
            try:
                block = cursor.read(size)
            except StopIteration:
                assert at == len(whole)
                break
            passed = block.count
            assert block.columns()[0].tolist() == whole[at : at + passed]
        at += passed
        state = cursor.get_state()
        cursor.close()
        cursor = source.open(PlanRun())
        cursor.set_state(state)
    assert of(cursor, 2) == whole[at:]


def test_a_dataset_of_names_is_read_in_its_order(names):
    ds = TFRecordDataset(Dataset.from_tensor_slices(names[::-1]), num_parallel_reads=2)
    assert list(ds) == list(TFRecordDataset(names[::-1], num_parallel_reads=2))
    shuffled = TFRecordDataset(Dataset.from_tensor_slices(names).shuffle(10, seed=2)).repeat(2)
    first, second = (
        list(itertools.batched(shuffled, 15)) if hasattr(itertools, "batched") else halves(shuffled)
    )
    assert sorted(first) == sorted(second) == sorted(TFRecordDataset(names))
    assert first != second


def halves(dataset):
    elements = list(dataset)
    return elements[: len(elements) // 2], elements[len(elements) // 2 :]


def test_an_iterator_is_restored_in_another_process_run(names):
    ds = (
        TFRecordDataset(Dataset.from_tensor_slices(names).shuffle(10), num_parallel_reads=2).repeat().batch(4)
    )
    elements = iter(ds)
    for _ in range(9):
        next(elements)
    state = elements.get_state()
    rest = [next(elements).tolist() for _ in range(5)]
    other = iter(
        TFRecordDataset(Dataset.from_tensor_slices(names).shuffle(10), num_parallel_reads=2).repeat().batch(4)
    )
    other.set_state(state)
    assert [next(other).tolist() for _ in range(5)] == rest


def readers():
    return {thread for thread in threading.enumerate() if thread.name.startswith("stratax-read")}


def test_threads_end_with_the_iterator(names):
    # Those of iterators that other tests have dropped end when they like.
    before = readers()
    with iter(TFRecordDataset(names, num_parallel_reads=3).repeat()) as elements:
        own = set()
        for _ in range(40):
            next(elements)
            # A thread lives as long as its file.
            own |= readers() - before
        assert own
    assert not own & readers()


def test_other_kinds_of_files_are_read_in_turn_too(names, tmp_path):
    (tmp_path / "a").write_bytes(b"1\n2\n3")
    (tmp_path / "b").write_bytes(b"4\n5\n6")
    files = [tmp_path / "a", tmp_path / "b"]
    assert b"".join(TextLineDataset(files, num_parallel_reads=2)) == b"142536"
    pairs = FixedLengthRecordDataset(files, 2, footer_bytes=1, num_parallel_reads=2)
    assert list(itertools.islice(pairs, 2)) == [b"1\n", b"4\n"]


@pytest.mark.parametrize("num_parallel", [1, 2])
def test_names_without_a_place_are_read_and_only_the_place_is_refused(names, num_parallel):
    given_names = Dataset.from_generator(lambda: iter(names), output_signature=TensorSpec((), object))
    ds = TFRecordDataset(given_names, num_parallel_reads=num_parallel)
    assert list(ds) == list(TFRecordDataset(names, num_parallel_reads=num_parallel))
    elements = iter(ds)
    next(elements)
    with pytest.raises(DataError, match="can't be saved: it reads a Python generator"):
        elements.get_state()
