"""Indexed TFRecord files: any record at any time, global shuffles, and what is said about damaged files."""

import itertools
import os

import crc32c
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import Dataset, TFRecordDataset, TFRecordWriter
from stratax.data.readers import _tfrecord_index
from stratax.data.readers._tfrecord_index import INDEX_SUFFIX, scan
from stratax.data.records import compute_masked_crc
from stratax.errors import BadArgumentError, DataLossError, FileMissingError


def write(path, records):
    with TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def write_numbers(path, count):
    """A file of `count` records, each the number of its own position in 8 bytes, made without a loop over them."""
    numbers = np.arange(count, dtype="<u8").view(np.uint8).reshape(count, 8)
    table = np.array([crc32c.crc32c(bytes([i])) ^ crc32c.crc32c(b"\0") for i in range(256)], np.uint32)
    crcs = np.full(count, crc32c.crc32c(bytes(8)), np.uint32)
    # A checksum is linear: that of a number is that of zeros changed by what each of its bytes changes.
    for place in range(8):
        changes = np.array(
            [crc32c.crc32c(bytes(place) + bytes([i]) + bytes(7 - place)) for i in range(256)], np.uint32
        )
        crcs ^= (changes ^ changes[0])[numbers[:, place]]
    assert table[0] == 0
    length = (8).to_bytes(8, "little")
    content = np.empty((count, 24), np.uint8)
    content[:, :12] = np.frombuffer(length + compute_masked_crc(length).to_bytes(4, "little"), np.uint8)
    content[:, 12:20] = numbers
    masked = ((crcs >> 15) | (crcs << 17)) + np.uint32(0xA282EAD8)
    content[:, 20:] = masked.astype("<u4").view(np.uint8).reshape(count, 4)
    content.tofile(path)
    return str(path)


def as_numbers(batch):
    return np.frombuffer(b"".join(batch), "<u8")


def test_an_indexed_dataset_is_the_same_and_has_a_length(tmp_path):
    files = [write(tmp_path / str(i), [f"{i}.{j}".encode() * j for j in range(3 * i)]) for i in range(4)]
    ds = TFRecordDataset(files, index=True)
    assert ds.is_indexable
    assert len(ds) == 18
    assert list(ds) == list(TFRecordDataset(files))
    assert list(ds.skip(11).take(3)) == list(TFRecordDataset(files))[11:14]
    assert np.concatenate(list(ds.batch(4))).tolist() == list(ds)


def test_a_shuffle_is_of_all_records(tmp_path):
    ds = TFRecordDataset(write_numbers(tmp_path / "a", 5000), index=True).shuffle(10, seed=1)
    first, second = (as_numbers(list(ds)) for _ in range(2))
    assert (np.sort(first) == np.arange(5000)).all()
    assert (np.sort(second) == np.arange(5000)).all()
    assert (first != second).mean() > 0.9
    assert np.abs(first.astype(int) - np.arange(5000)).mean() > 1000


def test_a_position_is_restored(tmp_path):
    def plan():
        return TFRecordDataset(path, index=True).shuffle(10).repeat(2).batch(7)

    path = write_numbers(tmp_path / "a", 50)
    elements = iter(plan())
    for _ in range(9):
        next(elements)
    state = elements.get_state()
    assert len(str(state)) < 1000
    rest = [batch.tolist() for batch in elements]
    other = iter(plan())
    other.set_state(state)
    assert [batch.tolist() for batch in other] == rest


@given(
    lengths=st.lists(st.integers(0, 40) | st.sampled_from([0, 7, 5000, 2_000_000]), max_size=30),
    repeats=st.integers(1, 40),
)
@settings(max_examples=30, deadline=None)
def test_records_of_any_lengths_are_found(tmp_path_factory, lengths, repeats):
    path = tmp_path_factory.mktemp("lengths") / "a"
    all_lengths = [length for length in lengths for _ in range(repeats if length < 100 else 1)]
    write(path, [bytes(length) for length in all_lengths])
    assert scan(str(path)).tolist() == list(
        itertools.accumulate([0, *(16 + length for length in all_lengths)])
    )


def test_the_index_is_kept_and_belongs_to_the_file_as_it_is(tmp_path):
    path = write(tmp_path / "a", [b"1", b"22"])
    kept = tmp_path / f".a{INDEX_SUFFIX}"
    assert len(TFRecordDataset(path, index=True)) == 2
    before = kept.read_bytes()
    assert len(TFRecordDataset(path, index=True)) == 2
    write(tmp_path / "a", [b"1", b"22", b"333"])
    assert list(TFRecordDataset(path, index=True)) == [b"1", b"22", b"333"]
    assert kept.read_bytes() != before
    for damaged in (b"", b"nonsense", before, kept.read_bytes()[:-8]):
        kept.write_bytes(damaged)
        assert list(TFRecordDataset(path, index=True)) == [b"1", b"22", b"333"]
    assert sorted(os.listdir(tmp_path)) == [kept.name, "a"]
    assert len(list(Dataset.list_files(tmp_path / "*"))) == 1


def test_a_folder_that_can_not_be_written_to_does_not_matter(tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError("read-only")

    path = write(tmp_path / "a", [b"1"])
    monkeypatch.setattr(_tfrecord_index, "new_file", refuse)
    assert list(TFRecordDataset(path, index=True)) == [b"1"]
    assert os.listdir(tmp_path) == ["a"]


def test_the_index_may_be_read_by_whoever_may_read_the_file(tmp_path):
    path = write(tmp_path / "a", [b"1"])
    assert len(TFRecordDataset(path, index=True)) == 1
    assert (tmp_path / f".a{INDEX_SUFFIX}").stat().st_mode == os.stat(path).st_mode


def test_a_file_that_is_gone_is_reported(tmp_path):
    ds = TFRecordDataset(write(tmp_path / "a", [b"1"]), index=True)
    assert len(ds) == 1
    (tmp_path / "a").unlink()
    with pytest.raises(FileMissingError, match="no such file"):
        list(ds)


def damaged(path, byte):
    content = bytearray(path.read_bytes())
    content[byte] ^= 1
    path.write_bytes(content)
    return str(path)


def outcomes(dataset):
    found = []
    elements = iter(dataset)
    while True:
        try:
            found.append(next(elements))
        except StopIteration:
            return found
        except DataLossError as e:
            found.append((e.record, e.offset))


@pytest.mark.parametrize("byte", [0, 9, 17 + 3, 17 + 9, 17 + 12, 17 + 14])
def test_a_damaged_file_gives_the_same_as_without_an_index(tmp_path, byte):
    write(tmp_path / "a", [b"1", b"2", b"3"])
    files = [damaged(tmp_path / "a", byte), write(tmp_path / "b", [b"4"])]
    assert outcomes(TFRecordDataset(files, index=True)) == outcomes(TFRecordDataset(files))
    if byte >= 17 + 12:
        assert len(list(TFRecordDataset(files, index=True, check_crc=False))) == 4


def test_a_cut_off_file_gives_the_same_as_without_an_index(tmp_path):
    content = (tmp_path / write(tmp_path / "a", [b"1", b"22", b"3"])).read_bytes()
    for size in range(len(content)):
        (tmp_path / "a").write_bytes(content[:size])
        files = [str(tmp_path / "a")]
        assert outcomes(TFRecordDataset(files, index=True)) == outcomes(TFRecordDataset(files))


def test_a_file_that_is_changed_behind_the_back_is_reported(tmp_path):
    ds = TFRecordDataset(write(tmp_path / "a", [b"11", b"22"]), index=True)
    assert len(ds) == 2
    with open(tmp_path / "a", "r+b") as file:
        file.write((tmp_path / write(tmp_path / "b", [b"1", b"2"])).read_bytes())
    with pytest.raises(DataLossError, match="another one than when its records were counted"):
        list(ds)


def test_wrong_use_raises(tmp_path):
    with pytest.raises(BadArgumentError, match="reads files without compression.*GZIP"):
        TFRecordDataset("a", "GZIP", index=True)
    with pytest.raises(BadArgumentError, match="num_parallel_reads=2"):
        TFRecordDataset("a", num_parallel_reads=2, index=True)
    endless = Dataset.from_tensor_slices([write(tmp_path / "a", [b"1"])]).repeat()
    with pytest.raises(BadArgumentError, match="needs an end of the names of files"):
        len(TFRecordDataset(endless, index=True))
    with pytest.raises(BadArgumentError, match="files of this machine.*memory://"):
        len(TFRecordDataset("memory://a", index=True))
    with pytest.raises(FileMissingError, match="no such file"):
        len(TFRecordDataset(tmp_path / "nothing", index=True))
    with pytest.raises(DataLossError, match="a directory is there"):
        len(TFRecordDataset(tmp_path, index=True))


def check_a_shuffle_of(count, tmp_path, blocks):
    """Some blocks of a global shuffle hold different records of the whole file, and not what comes first in it."""
    ds = TFRecordDataset(write_numbers(tmp_path / "a", count), index=True).shuffle(1000, seed=3)
    assert len(ds) == count
    with iter(ds) as elements:
        seen = np.concatenate([as_numbers(elements.next_block(10_000)[0]) for _ in range(blocks)])
    assert len(np.unique(seen)) == 10_000 * blocks
    assert seen.max() > 0.99 * count
    assert seen.min() < 0.01 * count
    assert abs(seen.mean() / count - 0.5) < 0.02


def test_a_hundred_thousand_records_are_shuffled_without_reading_them_before(tmp_path):
    check_a_shuffle_of(100_000, tmp_path, 3)


@pytest.mark.stress
def test_ten_million_records_are_shuffled_without_a_table(tmp_path):
    check_a_shuffle_of(10_000_000, tmp_path, 5)
