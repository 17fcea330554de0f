"""`cache(filename)`: the first whole pass is kept in files, in this process and later ones."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.snapshots._writer import SnapshotWriter
from stratax.errors import DataError, FileAccessError
from tests.data.reference import as_lists
from tests.data.snapshots.test_save_load import SAVER


class Source:
    """A pipeline whose elements are counted; as a stream, or at any position."""

    def __init__(self, kind, folder, count=10):
        self.kind = kind
        self.folder = folder
        self.count = count
        self.seen = []

    def dataset(self):
        numbers = Dataset.range(self.count)
        if self.kind == "stream":
            numbers = numbers.filter(lambda n: True)
        return numbers.map(lambda n: self.seen.append(int(n)) or n * 2).cache(self.folder)


@pytest.fixture(params=["stream", "index"])
def source(request, tmp_path):
    return Source(request.param, tmp_path / "cache")


def is_there(folder):
    return (folder / "dataset_spec.json").exists()


def test_elements_are_made_once_for_all_passes_and_later_datasets(source):
    expected = list(range(0, 20, 2))
    dataset = source.dataset()
    _ = dataset.element_spec
    source.seen.clear()
    assert as_lists(dataset) == expected
    assert sorted(set(source.seen)) == list(range(10))
    source.seen.clear()
    assert as_lists(dataset) == as_lists(dataset.repeat(2))[10:] == expected
    assert source.seen == []
    assert as_lists(source.dataset()) == expected
    assert len(source.seen) <= 2  # Only what tells the spec.


def test_repeats_read_what_their_first_pass_wrote(source):
    dataset = source.dataset().repeat(3).batch(4)
    _ = dataset.element_spec
    source.seen.clear()
    assert np.concatenate(list(dataset)).tolist() == list(range(0, 20, 2)) * 3
    assert len(source.seen) <= 12  # Some tell the spec and whether the function is pure.


def test_a_pass_that_is_not_whole_leaves_nothing(source):
    dataset = source.dataset()
    as_lists(dataset.take(9))
    with iter(dataset) as iterator:
        next(iterator)
    assert not is_there(source.folder)
    assert os.listdir(source.folder) == []
    as_lists(dataset)
    assert is_there(source.folder)


def test_a_process_that_is_killed_leaves_nothing_that_counts(tmp_path):
    program = SAVER.replace("(sys.argv[2])", "(sys.argv[2]).reduce(0, lambda a, b: np.int32(0))")
    done = subprocess.run(
        [sys.executable, "-c", program, "cache", str(tmp_path)],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    assert not is_there(tmp_path)
    assert as_lists(Dataset.range(3).map(lambda n: n + 5).cache(str(tmp_path))) == [5, 6, 7]
    assert len(os.listdir(tmp_path)) == 2


def test_writers_at_the_same_time_do_not_meet(source):
    found = []

    def read():
        found.append(as_lists(source.dataset()))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [list(range(0, 20, 2))] * 4
    assert len(os.listdir(source.folder)) == 2
    assert as_lists(source.dataset()) == found[0]


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_pass_stays_with_its_own_pipeline_when_another_one_puts_its_pass_there(tmp_path, shuffle):
    path = str(tmp_path / "cache")
    one = Dataset.range(4).cache(path)
    other = Dataset.range(4).map(lambda x: x + 10).cache(path)
    if shuffle:
        other = other.shuffle(4, seed=1)
    iterator = iter(other)
    found = [int(next(iterator))]
    assert [int(x) for x in one] == [0, 1, 2, 3]
    found += [int(x) for x in iterator]
    assert sorted(found) == [10, 11, 12, 13]


def test_iterators_side_by_side_agree(source):
    dataset = source.dataset()
    one, other = iter(dataset), iter(dataset)
    assert [int(n) for pair in zip(one, other, strict=True) for n in pair] == [
        n for n in range(0, 20, 2) for _ in "ab"
    ]
    assert as_lists(dataset) == list(range(0, 20, 2))


def test_a_place_is_exact_before_and_after_the_files_are_there(source):
    expected = list(range(0, 20, 2)) * 2
    parent = source.folder
    for start in range(0, 21, 2):
        source.folder = parent / str(start)
        iterator = iter(source.dataset().repeat(2))
        for _ in range(start):
            next(iterator)
        state = json.loads(json.dumps(iterator.get_state()))
        iterator.close()
        # The first one makes the files in its second pass, if they are not there.
        for _ in range(2):
            again = iter(source.dataset().repeat(2))
            again.set_state(state)
            assert as_lists(again) == expected[start:]
        assert is_there(source.folder)


def test_a_restored_pass_does_not_count_as_whole(source):
    iterator = iter(source.dataset())
    for _ in range(4):
        next(iterator)
    state = iterator.get_state()
    iterator.close()
    again = iter(source.dataset())
    again.set_state(state)
    assert as_lists(again) == list(range(8, 20, 2))
    assert not is_there(source.folder)


def test_a_place_in_files_that_are_gone_is_refused(tmp_path):
    source = Source("stream", tmp_path / "cache")
    as_lists(source.dataset())
    iterator = iter(source.dataset())
    next(iterator)
    state = iterator.get_state()
    iterator.close()
    (source.folder / "dataset_spec.json").unlink()
    with pytest.raises(DataError, match="files of a cache that are not there any more"):
        iter(source.dataset()).set_state(state)


def test_the_order_below_is_that_of_the_pass_that_was_written(tmp_path):
    def dataset():
        return Dataset.range(20).shuffle(20).cache(tmp_path)

    first = as_lists(dataset())
    assert as_lists(dataset()) == as_lists(dataset().repeat(2))[20:] == first
    iterator = iter(dataset())
    head = [int(next(iterator)) for _ in range(7)]
    again = iter(dataset())
    again.set_state(iterator.get_state())
    assert head + as_lists(again) == first


def test_a_place_of_another_order_is_not_taken_from_the_files(tmp_path):
    def dataset(seed):
        return Dataset.range(20).shuffle(20, seed=seed).cache(tmp_path)

    whole = as_lists(Dataset.range(20).shuffle(20, seed=5))
    iterator = iter(dataset(5))
    head = [int(next(iterator)) for _ in range(7)]
    state = iterator.get_state()
    iterator.close()
    as_lists(dataset(6))
    again = iter(dataset(7))
    again.set_state(state)
    assert head + as_lists(again) == whole


def test_elements_that_fail_keep_a_pass_from_counting(source):
    def fails(n):
        if n == 4:
            raise ValueError("no four")
        return n

    dataset = Dataset.range(6)
    if source.kind == "stream":
        dataset = dataset.filter(lambda n: True)
    iterator = iter(dataset.map(fails).cache(source.folder))
    for _ in range(4):
        next(iterator)
    with pytest.raises(ValueError, match="no four"):
        next(iterator)
    assert as_lists(iterator) == [5]
    assert not is_there(source.folder)


@pytest.mark.parametrize(
    "other",
    [
        Dataset.range(7).map(lambda n: n + 1),
        Dataset.range(5).map(lambda n: n.astype(np.int8)),
        Dataset.range(5).map(lambda n: (n, n)),
        Dataset.range(5).map(lambda n: np.ones(3, np.int64)),
    ],
)
def test_files_of_another_pipeline_are_refused(tmp_path, other):
    as_lists(Dataset.range(5).map(lambda n: n + 1).cache(tmp_path))
    with pytest.raises(DataError, match=r"elements of another pipeline.*Remove the folder"):
        list(other.cache(tmp_path))


def test_ragged_elements_strings_and_urls_are_kept(tmp_path):
    ragged = Dataset.range(6).map(lambda n: (np.ones(int(n) % 3), str(n)))
    for folder in (tmp_path / "local", "memory://cached/ragged"):
        dataset = ragged.cache(folder)
        first = repr(list(dataset))
        assert repr(list(dataset)) == repr(list(ragged.cache(folder))) == first == repr(list(ragged))


def test_elements_that_can_not_be_written_are_reported_and_those_behind_are_read(source):
    """A disk that is full for a moment; nothing of the pass counts."""
    dataset = source.dataset().ignore_errors()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    elements = iter(source.dataset())
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(FileAccessError, match="can't be written: File too large"):
            list(elements)
        ignored = as_lists(dataset)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not is_there(source.folder)
    assert set(ignored) <= set(range(0, 20, 2))
    elements.close()
    assert as_lists(source.dataset()) == list(range(0, 20, 2))


def test_a_stream_goes_on_behind_an_element_that_can_not_be_written(tmp_path, monkeypatch):
    source = Source("stream", tmp_path / "cache")
    write, calls = SnapshotWriter.write, []

    def fail_once(self, columns, *args):
        calls.append(columns)
        if len(calls) == 2:
            raise FileAccessError("full")
        write(self, columns, *args)

    monkeypatch.setattr(SnapshotWriter, "write", fail_once)
    elements = iter(source.dataset())
    found = []
    with pytest.raises(FileAccessError, match="full"):
        found.extend(elements)
    assert list(map(int, found)) == list(range(0, 2 * len(found), 2))
    state = elements.get_state()
    rest = as_lists(elements)
    assert rest == list(range(2 * len(found) + 2, 20, 2))
    again = iter(source.dataset())
    again.set_state(state)
    assert as_lists(again) == rest
    assert not is_there(source.folder)


def test_a_folder_that_is_none_is_reported_once_and_ignoring_that_ends(source):
    source.folder.write_bytes(b"a file")
    with pytest.raises(FileAccessError, match="can't be written"):
        list(source.dataset())
    assert as_lists(source.dataset().ignore_errors()) == []
    if source.kind == "stream":
        with pytest.raises(DataError, match="can't be saved: the files of its cache can't be used"):
            iter(source.dataset()).get_state()
