"""`save` and `load`: the same elements, whole or not at all, damaged ones named."""

import collections
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import stratax as sx
from stratax.data import Dataset, TensorSpec
from stratax.errors import (
    BadArgumentError,
    BadTypeError,
    DataError,
    DataLossError,
    FileAccessError,
    FileMissingError,
    TracingError,
)
from tests.data.reference import as_lists

Pair = collections.namedtuple("Pair", "first second")


def shards_of(folder):
    return sorted(pathlib.Path(folder).glob("*/shard-*.tfrecord"))


def mixed(count=10):
    names = np.array([b"\0name" * i for i in range(count)], dtype=object)
    data = {"x": np.arange(count * 2.0).reshape(count, 2), "name": names}
    return Dataset.from_tensor_slices(data).map(
        lambda e: (Pair(e["name"], np.int8(3)), {"x": e["x"], "none": None})
    )


def equal(left, right):
    assert repr(list(left)) == repr(list(right))


@pytest.mark.parametrize("compression", [None, "NONE", "GZIP", "ZLIB"])
def test_elements_come_back_as_they_were(tmp_path, compression):
    mixed().save(tmp_path, compression)
    loaded = Dataset.load(tmp_path, compression=compression)
    equal(loaded, mixed())
    assert len(loaded) == 10
    assert loaded.is_indexable == (compression in (None, "NONE"))
    assert [spec.dtype for spec in loaded.element_spec[0]] == [object, np.int8]
    assert next(iter(loaded))[0].first == b""
    spec = mixed().element_spec
    assert isinstance(next(iter(Dataset.load(tmp_path, spec)))[0], Pair)


def test_sizes_that_differ_come_back(tmp_path):
    ragged = Dataset.range(9).map(lambda n: np.ones(int(n) % 4))
    ragged.save(tmp_path)
    loaded = Dataset.load(tmp_path)
    assert loaded.element_spec == TensorSpec((None,), "float64")
    equal(loaded, ragged)
    equal(loaded.padded_batch(4), ragged.padded_batch(4))
    assert sorted(len(x) for x in loaded.shuffle(9)) == sorted(len(x) for x in ragged)
    ragged.save(tmp_path / "g", "GZIP")
    equal(Dataset.load(tmp_path / "g"), ragged)


def test_strings_in_arrays_and_empty_datasets_come_back(tmp_path):
    words = Dataset.from_tensor_slices(np.array([[b"a", b""], [b"bcd", b"\xff"]], dtype=object))
    words.save(tmp_path / "words")
    assert [x.tolist() for x in Dataset.load(tmp_path / "words")] == [[b"a", b""], [b"bcd", b"\xff"]]
    Dataset.range(0).save(tmp_path / "none")
    assert list(Dataset.load(tmp_path / "none")) == []
    assert Dataset.load(tmp_path / "none").element_spec == TensorSpec((), "int64")


def test_a_loaded_dataset_is_shuffled_as_a_whole_and_keeps_its_place(tmp_path):
    Dataset.range(1000).save(tmp_path)
    loaded = Dataset.load(tmp_path).shuffle(2, seed=1).batch(30)
    assert loaded.is_indexable
    memory = Dataset.range(1000).shuffle(2, seed=1).batch(30)
    iterator = iter(loaded)
    head = [next(iterator).tolist() for _ in range(7)]
    state = json.loads(json.dumps(iterator.get_state()))
    again = iter(Dataset.load(tmp_path).shuffle(2, seed=9).batch(30))
    again.set_state(state)
    assert head + as_lists(again) == as_lists(memory)


def test_a_place_in_compressed_files_is_exact(tmp_path):
    mixed(100).save(tmp_path, "GZIP")
    whole = list(Dataset.load(tmp_path))
    for start in (0, 1, 50, 99, 100):
        iterator = iter(Dataset.load(tmp_path))
        for _ in range(start):
            next(iterator)
        again = iter(Dataset.load(tmp_path))
        again.set_state(json.loads(json.dumps(iterator.get_state())))
        equal(again, whole[start:])


def test_a_place_in_another_saving_is_refused(tmp_path):
    Dataset.range(5).save(tmp_path)
    state = iter(Dataset.load(tmp_path)).get_state()
    Dataset.range(5).save(tmp_path)
    with pytest.raises(DataError, match="another pipeline"):
        iter(Dataset.load(tmp_path)).set_state(state)


def test_files_are_chosen_by_a_function(tmp_path):
    pairs = Dataset.zip(Dataset.range(10), Dataset.range(10))
    pairs.save(tmp_path, shard_func=lambda a, b: np.int64(a % 3))
    assert len(shards_of(tmp_path)) == 3
    assert sorted(int(a) for a, _ in Dataset.load(tmp_path)) == list(range(10))

    def some(datasets):
        return datasets.skip(1).flat_map(lambda dataset: dataset.take(2))

    assert [int(a) for a, _ in Dataset.load(tmp_path, reader_func=some)] == [1, 4, 2, 5]


# TensorFlow's orders on a machine with 2, and with 4 processors.
@pytest.mark.parametrize(
    ("processors", "expected"),
    [(2, [0, 1, 3, 4, 6, 7, 9, 2, 5, 8]), (4, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])],
)
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_files_take_turns_when_they_are_loaded(tmp_path, monkeypatch, processors, expected, compression):
    Dataset.range(10).save(tmp_path, compression, shard_func=lambda a: a % 3)
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    loaded = Dataset.load(tmp_path)
    assert [int(a) for a in loaded] == expected
    assert loaded.is_indexable == (compression is None)

    iterator = iter(loaded)
    begun = [int(next(iterator)) for _ in range(4)]
    restored = iter(Dataset.load(tmp_path))
    restored.set_state(iterator.get_state())
    assert begun + [int(a) for a in restored] == expected


def test_uneven_files_take_turns_until_each_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    Dataset.range(8).save(tmp_path, shard_func=lambda a: np.int64(a >= 6))
    assert [int(a) for a in Dataset.load(tmp_path)] == [0, 6, 1, 7, 2, 3, 4, 5]


def test_saving_over_what_is_read_replaces_it_at_the_end(tmp_path):
    Dataset.range(5).save(tmp_path)
    Dataset.load(tmp_path).map(lambda n: n + 1).save(tmp_path)
    assert as_lists(Dataset.load(tmp_path)) == [1, 2, 3, 4, 5]
    assert len(shards_of(tmp_path)) == 1


def test_a_failing_save_leaves_what_was_there(tmp_path):
    def fails(n):
        if n == 7:
            raise RuntimeError("no seven")
        return n

    Dataset.range(3).save(tmp_path)
    with pytest.raises(RuntimeError, match="no seven"):
        Dataset.range(20).map(fails).save(tmp_path)
    assert as_lists(Dataset.load(tmp_path)) == [0, 1, 2]
    assert len(os.listdir(tmp_path)) == 2


SAVER = """
import os, signal, sys, numpy as np
from stratax.data import Dataset

def step(n):
    if n == 3000:
        os.kill(os.getpid(), signal.SIGKILL)
    return n

getattr(Dataset.range(5000).map(step), sys.argv[1])(sys.argv[2])
"""


def test_a_save_in_a_process_that_is_killed_is_never_loaded(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SAVER, "save", str(tmp_path)],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    with pytest.raises(FileMissingError, match="no saved Dataset, or its writing did not come to its end"):
        Dataset.load(tmp_path)
    Dataset.range(3).save(tmp_path)
    assert as_lists(Dataset.load(tmp_path)) == [0, 1, 2]
    assert len(os.listdir(tmp_path)) == 2


def test_urls_work():
    mixed().save("memory://saved/mixed")
    mixed(3).save("memory://saved/mixed")
    loaded = Dataset.load("memory://saved/mixed")
    equal(loaded, mixed(3))
    assert not loaded.is_indexable


@pytest.mark.parametrize("place", [0, 9, 14, 30])
def test_a_flipped_bit_is_named_and_the_rest_is_read(tmp_path, place):
    Dataset.range(20).map(lambda n: (n, n)).save(tmp_path)
    (file,) = shards_of(tmp_path)
    content = bytearray(file.read_bytes())
    size = len(content) // 20
    content[5 * size + place] ^= 4
    file.write_bytes(content)
    dataset = Dataset.load(tmp_path)
    for _ in range(2):
        iterator = iter(dataset)
        assert [int(next(iterator)[0]) for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(DataLossError, match=rf"element 5, offset {5 * size}") as caught:
            next(iterator)
        assert (caught.value.filename, caught.value.record) == (str(file), 5)
        assert [int(n) for n, _ in iterator] == list(range(6, 20))


def test_a_flipped_bit_in_the_index_is_noticed(tmp_path):
    # Records of 512 bytes: with one bit changed an offset is that of another record, whose checksum is right.
    Dataset.from_tensor_slices(np.zeros((4, 487), np.uint8)).save(tmp_path)
    (index,) = tmp_path.glob("*/*.index")
    content = index.read_bytes()
    for place in range(len(content)):
        index.write_bytes(content[:place] + bytes([content[place] ^ 2]) + content[place + 1 :])
        with pytest.raises(DataLossError, match="index of a file of saved elements is damaged"):
            list(Dataset.load(tmp_path))


def test_arguments_are_checked(tmp_path):
    dataset = Dataset.range(3)
    with pytest.raises(BadArgumentError, match="nothing to checkpoint"):
        dataset.save(tmp_path, checkpoint_args={})
    with pytest.raises(BadTypeError, match="shard_func has to be callable"):
        dataset.save(tmp_path, shard_func=3)
    with pytest.raises(DataError, match="shard_func has to give the number of a file"):
        dataset.save(tmp_path, shard_func=lambda n: -1)
    with pytest.raises(BadArgumentError, match="compression"):
        dataset.save(tmp_path, "BROTLI")
    dataset.save(tmp_path)
    with pytest.raises(BadArgumentError, match="another compression"):
        Dataset.load(tmp_path, compression="GZIP")
    with pytest.raises(DataError, match="others than asked for"):
        Dataset.load(tmp_path, TensorSpec((), "int32"))
    for spec in ((TensorSpec((), "int64"),), 3):
        with pytest.raises(DataError, match="others than asked for"):
            Dataset.load(tmp_path, spec)
    with pytest.raises(DataError, match="reader_func has to return a Dataset"):
        Dataset.load(tmp_path, reader_func=lambda datasets: 3)
    with pytest.raises(FileMissingError, match="no saved Dataset") as caught:
        Dataset.load(tmp_path / "nowhere")
    assert caught.value.filename == str(tmp_path / "nowhere")


def save(folder):
    Dataset.range(10).save(folder)


def load(folder):
    return list(Dataset.load(folder))


def cache(folder):
    return list(Dataset.range(10).cache(folder))


@pytest.mark.parametrize("use", [save, load, cache])
def test_a_folder_that_may_not_be_entered_is_reported(tmp_path, unprivileged, use):
    (tmp_path / "folder").mkdir(0)
    unprivileged()
    with pytest.raises(FileAccessError, match=r"(may not be read|can't be written).*folder/"):
        use(tmp_path / "folder" / "inner")


@pytest.mark.parametrize("use", [save, cache])
def test_a_file_where_the_folder_should_be_is_reported(tmp_path, use):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(FileAccessError, match="can't be written: (File exists|Not a directory).*file"):
            use(folder)


@pytest.mark.parametrize("use", [save, load, cache])
def test_urls_that_nothing_opens_are_reported(use):
    with pytest.raises(BadArgumentError, match="of no kind that fsspec opens.*'nope://x"):
        use("nope://x/y")


@pytest.mark.parametrize("use", [save, cache])
def test_a_full_disk_is_reported_and_nothing_is_left(tmp_path, use):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(FileAccessError, match="can't be written: File too large"):
            use(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


def test_a_directory_in_the_place_of_the_description_is_reported_and_nothing_is_left(tmp_path):
    (tmp_path / "dataset_spec.json").mkdir()
    with pytest.raises(DataLossError, match="a directory is there"):
        save(tmp_path)
    with pytest.raises(DataLossError, match="a directory is there"):
        load(tmp_path)
    assert os.listdir(tmp_path) == ["dataset_spec.json"]


def test_a_compiled_function_saves_whenever_it_runs(tmp_path):
    texts = Dataset.from_tensor_slices(["a", "b"])

    @sx.function
    def saved(dataset, x):
        dataset.save(tmp_path / "numbers")
        texts.save(tmp_path / "texts")
        return x + 1

    assert float(saved(Dataset.range(3), 1.0)) == 2.0
    assert [int(n) for n in Dataset.load(tmp_path / "numbers")] == [0, 1, 2]
    assert list(Dataset.load(tmp_path / "texts").as_numpy_iterator()) == [b"a", b"b"]
    # The dataset of this call, though the program is that of the first.
    saved(Dataset.range(3, 6), 1.0)
    assert [int(n) for n in Dataset.load(tmp_path / "numbers")] == [3, 4, 5]
    assert saved.num_programs == 1


def test_saving_in_a_loop_of_a_compiled_function_is_refused(tmp_path):
    @sx.function
    def saved():
        for _ in sx.range(2):
            Dataset.range(3).save(tmp_path)

    with pytest.raises(TracingError, match="A dataset is saved in a loop.*Save it outside"):
        saved()


def test_load_waits_for_what_is_being_saved(tmp_path, caplog):
    writer = threading.Timer(1.0, lambda: Dataset.range(4).save(tmp_path / "late"))
    writer.start()
    with caplog.at_level("INFO", logger="stratax"):
        loaded = Dataset.load(tmp_path / "late", wait=True)
    writer.join()
    assert as_lists(loaded) == [0, 1, 2, 3]
    assert "to be saved to its end" in caplog.text


def test_windows_are_not_written_to_files(tmp_path):
    windows = Dataset.range(4).window(2)
    # TensorFlow writes them, and raises the same error when they are read.
    with pytest.raises(DataLossError, match="can't be written to a file, from which nobody could read them"):
        windows.save(str(tmp_path / "saved"))
    for written in (windows.snapshot(str(tmp_path / "snapshot")), windows.cache(str(tmp_path / "cache"))):
        with pytest.raises(DataLossError, match="make windows of what is read"):
            list(written)
    assert not (tmp_path / "saved").exists()
