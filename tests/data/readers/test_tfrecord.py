"""TFRecordDataset: what is read, in which order, and what is said about damaged files."""

import errno
import gzip
import os
import pathlib
import struct

import numpy as np
import pytest

from stratax.data import TFRecordDataset, TFRecordWriter
from stratax.data.records import compute_masked_crc
from stratax.errors import BadArgumentError, BadTypeError, DataLossError, FileAccessError, FileMissingError

RECORDS = [b"", b"a", b"bc" * 40, bytes(range(256)) * 5, b"end"]


def write(path, records=RECORDS, options=None):
    with TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def content_of(path, records):
    return pathlib.Path(write(path, records)).read_bytes()


def outcomes(dataset):
    """Every element, and every error with its place."""
    found = []
    elements = iter(dataset)
    while True:
        try:
            found.append(next(elements))
        except StopIteration:
            return found
        except DataLossError as e:
            found.append((e.record, e.offset))


@pytest.mark.parametrize(("kind", "compression"), [("plain", None), ("gzip", "GZIP"), ("zlib", "ZLIB")])
def test_golden_files_read_back_exactly(shared, kind, compression):
    folder = shared / "golden" / "tfrecord"
    records = list(TFRecordDataset(folder / f"{kind}.tfrecord", compression))
    assert len(records) == 102
    assert records[-2:] == [b"", bytes(70_000)]
    assert records == list(TFRecordDataset([str(folder / "plain.tfrecord")]))


def test_an_element_is_bytes_and_a_batch_an_object_array(tmp_path):
    ds = TFRecordDataset(write(tmp_path / "a"))
    assert [type(record) for record in ds.as_numpy_iterator()] == [bytes] * len(RECORDS)
    batch = next(iter(ds.batch(3)))
    assert batch.dtype == object
    assert batch.tolist() == RECORDS[:3]


def test_files_are_read_one_after_another(tmp_path):
    names = [write(tmp_path / "a", [b"1", b"2"]), write(tmp_path / "b", []), write(tmp_path / "c", [b"3"])]
    assert list(TFRecordDataset(names)) == [b"1", b"2", b"3"]
    assert list(TFRecordDataset(np.array(names))) == [b"1", b"2", b"3"]
    assert list(TFRecordDataset(tmp_path / "a")) == [b"1", b"2"]


@pytest.mark.parametrize("buffer_size", [1, 13, 100, 1 << 20])
@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_the_size_of_the_buffer_does_not_matter(tmp_path, buffer_size, compression):
    path = write(tmp_path / "a", options=compression)
    assert list(TFRecordDataset(path, compression, buffer_size)) == RECORDS


def test_an_empty_file_has_no_records(tmp_path):
    (tmp_path / "empty").touch()
    assert list(TFRecordDataset(tmp_path / "empty")) == []
    assert list(TFRecordDataset(tmp_path / "empty", "GZIP")) == []


@pytest.mark.parametrize("cut", range(1, 17 + 16 + 20))
def test_a_cut_off_file_is_reported_at_the_record_that_is_cut(tmp_path, cut):
    whole = content_of(tmp_path / "a", [b"", b"x", b"yyyy"])
    (tmp_path / "cut").write_bytes(whole[:cut])
    found = outcomes(TFRecordDataset([tmp_path / "cut", write(tmp_path / "next", [b"n"])]))
    starts = [0, 16, 33, 53]
    whole_records = sum(stop <= cut for stop in starts[1:])
    expected = [b"", b"x", b"yyyy"][:whole_records]
    if cut not in starts:
        expected.append((whole_records, starts[whole_records]))
    assert found == [*expected, b"n"]


@pytest.mark.parametrize(
    ("byte", "expected"),
    [
        (17 + 3, [b"1", (1, 17)]),
        (17 + 9, [b"1", (1, 17)]),
        (17 + 12, [b"1", (1, 17), b"3"]),
        (17 + 14, [b"1", (1, 17), b"3"]),
    ],
    ids=["length", "length's checksum", "data", "data's checksum"],
)
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_a_flipped_bit_costs_one_record_where_the_format_allows(tmp_path, byte, expected, compression):
    content = bytearray(content_of(tmp_path / "a", [b"1", b"2", b"3"]))
    content[byte] ^= 4
    (tmp_path / "a").write_bytes(gzip.compress(content) if compression else content)
    ds = TFRecordDataset([tmp_path / "a", write(tmp_path / "b", [b"n"], compression)], compression)
    assert outcomes(ds) == [*expected, b"n"]


def test_ignoring_errors_leaves_out_the_broken_record(tmp_path):
    content = bytearray(content_of(tmp_path / "a", [b"1", b"2", b"3"]))
    content[17 + 12] ^= 1
    (tmp_path / "a").write_bytes(content)
    for index in (False, True):
        assert list(TFRecordDataset(tmp_path / "a", index=index).ignore_errors()) == [b"1", b"3"]


def test_the_error_names_file_record_and_offset(tmp_path):
    content = bytearray(content_of(tmp_path / "a", [b"1", b"2"]))
    content[17 + 12] ^= 1
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(
        DataLossError, match=r"data of a record is damaged.*a', record=1, offset=17"
    ) as caught:
        list(TFRecordDataset(tmp_path / "a"))
    assert (caught.value.filename, caught.value.record, caught.value.offset) == (str(tmp_path / "a"), 1, 17)


def test_damaged_data_is_given_where_nobody_wants_it_checked(tmp_path):
    content = bytearray(content_of(tmp_path / "a", [b"1"]))
    content[12] ^= 1
    (tmp_path / "a").write_bytes(content)
    assert list(TFRecordDataset(tmp_path / "a", check_crc=False)) == [b"0"]


def test_nothing_is_allocated_on_the_word_of_a_length(tmp_path):
    length = struct.pack("<Q", 1 << 60)
    header = length + struct.pack("<I", compute_masked_crc(length))
    (tmp_path / "a").write_bytes(header + bytes(100))
    with pytest.raises(
        DataLossError, match="claims to have 1152921504606846976 bytes, more than max_record_bytes"
    ):
        list(TFRecordDataset(tmp_path / "a"))


def test_a_compressed_file_read_as_plain_is_recognised(tmp_path):
    for kind in ("GZIP", "ZLIB"):
        with pytest.raises(DataLossError, match=f"pass compression_type='{kind}'"):
            list(TFRecordDataset(write(tmp_path / "a", options=kind)))


def test_a_plain_file_read_as_compressed_is_recognised(tmp_path):
    path = write(tmp_path / "a")
    for kind in ("GZIP", "ZLIB"):
        with pytest.raises(DataLossError, match="pass compression_type=None"):
            list(TFRecordDataset(path, kind))
    with pytest.raises(DataLossError, match="pass compression_type='GZIP'"):
        list(TFRecordDataset(write(tmp_path / "b", options="GZIP"), "ZLIB"))


def test_a_file_that_is_not_one_is_reported(tmp_path):
    (tmp_path / "text").write_text("a text that is long enough")
    with pytest.raises(DataLossError, match="may not be a TFRecord file"):
        list(TFRecordDataset(tmp_path / "text"))


def test_a_missing_file_and_a_directory_are_reported(tmp_path):
    with pytest.raises(FileMissingError, match="no such file.*nothing"):
        list(TFRecordDataset(tmp_path / "nothing"))
    with pytest.raises(DataLossError, match="a directory is there"):
        list(TFRecordDataset(tmp_path))


def test_wrong_arguments_raise():
    with pytest.raises(BadArgumentError, match="compression_type is 'GZIP'"):
        TFRecordDataset("a", "BZIP")
    with pytest.raises(BadTypeError, match="name of a file is a string or a path"):
        TFRecordDataset([3])
    with pytest.raises(BadArgumentError, match="buffer_size"):
        TFRecordDataset("a", buffer_size=-1)


@pytest.mark.parametrize("index", [False, True])
def test_a_file_that_may_not_be_read_is_reported(tmp_path, unprivileged, index):
    path = write(tmp_path / "a")
    os.chmod(path, 0)
    unprivileged()
    with pytest.raises(FileAccessError, match=r"may not be read\. Received: filename='.*/a'") as caught:
        list(TFRecordDataset(path, index=index))
    assert caught.value.filename == path


def test_a_file_of_a_store_that_may_not_be_read_is_reported(monkeypatch):
    def refuse(*args, **settings):
        raise PermissionError("Forbidden")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.open", refuse)
    with pytest.raises(FileAccessError, match=r"filename='memory://secret/a'"):
        list(TFRecordDataset("memory://secret/a"))


@pytest.mark.parametrize("index", [False, True])
def test_there_is_no_file_below_a_file(tmp_path, index):
    path = write(tmp_path / "a")
    with pytest.raises(FileMissingError, match="no such file"):
        list(TFRecordDataset(f"{path}/b", index=index))


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("num_parallel", [1, 2])
def test_a_store_that_fails_while_it_is_read_costs_the_rest_of_a_file(monkeypatch, compression, num_parallel):
    names = ["memory://failing/a", "memory://failing/b"]
    for name in names:
        write(name, [name.encode()], compression)

    def fail(file, *args):
        raise TimeoutError("no answer")

    whole = TFRecordDataset(names[1], compression)
    ds = TFRecordDataset(names, compression, num_parallel_reads=num_parallel)
    assert len(list(ds)) == 2
    monkeypatch.setattr("fsspec.implementations.memory.MemoryFile.read", fail, raising=False)
    with pytest.raises(DataLossError, match="can't be read on: TimeoutError: no answer.*its store answers"):
        list(whole)
    assert list(ds.ignore_errors()) == []


def test_a_disk_that_fails_while_it_is_read_costs_the_rest_of_a_file(tmp_path, monkeypatch):
    names = [write(tmp_path / "a", [b"1"]), write(tmp_path / "b", [b"2"])]
    read, calls = os.pread, []

    def fail_first(file, *args):
        calls.append(file)
        if len(calls) == 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(file, *args)

    monkeypatch.setattr(os, "pread", fail_first)
    elements = iter(TFRecordDataset(names))
    with pytest.raises(
        DataLossError, match=r"can't be read on: Input/output error.*record=0, offset=0.*its disk"
    ):
        next(elements)
    assert list(elements) == [b"2"]


@pytest.mark.parametrize("index", [False, True])
def test_a_name_that_is_too_long_is_that_of_no_file(tmp_path, index):
    name = str(tmp_path / ("x" * 300))
    with pytest.raises(FileMissingError, match="no such file") as caught:
        list(TFRecordDataset(name, index=index))
    assert caught.value.filename == name


def test_a_link_to_itself_can_not_be_read(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileAccessError, match="can't be read: Too many levels of symbolic links"):
        list(TFRecordDataset(tmp_path / "loop"))
