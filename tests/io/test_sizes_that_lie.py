"""Files are read until they end, whatever size the system gives: made up when read, or written to meanwhile."""

import os
import pathlib
import threading

import pytest

import stratax.tf as tf
from stratax.data import (
    CsvDataset,
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
    TFRecordWriter,
)
from stratax.data.plan import PlanRun
from stratax.errors import BadArgumentError, DataLossError
from stratax.io import open_bytes

MADE_UP = "/proc/self/limits"
needs_proc = pytest.mark.skipif(not os.path.exists(MADE_UP), reason="needs Linux' /proc")


@pytest.fixture
def content():
    return pathlib.Path(MADE_UP).read_bytes()


@needs_proc
class TestFilesOfSizeZero:
    def test_lines_and_records_are_read(self, content):
        assert os.stat(MADE_UP).st_size == 0
        assert list(TextLineDataset(MADE_UP)) == content.splitlines()
        assert list(TextLineDataset(MADE_UP, buffer_size=7)) == content.splitlines()
        assert list(TextLineDataset([MADE_UP] * 2, num_parallel_reads=2))[::2] == content.splitlines()
        assert b"".join(FixedLengthRecordDataset(MADE_UP, 1, header_bytes=3)) == content[3:]
        rows = CsvDataset(MADE_UP, [""], field_delim="\x01", use_quote_delim=False)
        assert [row[0] for row in rows] == content.splitlines()

    def test_positions_and_skipping_are_exact(self, content):
        lines = content.splitlines()
        assert list(TextLineDataset(MADE_UP).skip(5)) == lines[5:]
        assert b"".join(FixedLengthRecordDataset(MADE_UP, 1).skip(9)) == content[9:]
        iterator = iter(TextLineDataset(MADE_UP))
        for _ in range(4):
            next(iterator)
        again = iter(TextLineDataset(MADE_UP))
        again.set_state(iterator.get_state())
        assert list(again) == lines[4:]

    def test_whole_files_are_read(self, content, tmp_path):
        assert tf.io.read_file(MADE_UP) == content
        with tf.io.gfile.GFile(MADE_UP, "rb") as file:
            assert file.read() == content
        assert [line.rstrip("\n").encode() for line in tf.io.gfile.GFile(MADE_UP)] == content.splitlines()
        tf.io.gfile.copy(MADE_UP, tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == content

    def test_what_is_no_tfrecord_file_is_said_to_be_none(self):
        with pytest.raises(DataLossError, match="may not be a TFRecord file"):
            list(TFRecordDataset(MADE_UP))

    def test_an_index_needs_a_size(self):
        with pytest.raises(BadArgumentError, match=r"index=True needs files whose size tells"):
            list(TFRecordDataset(MADE_UP, index=True))


def test_pipes_are_read_to_their_end(tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    with pytest.raises(BadArgumentError, match="no pipes"):
        list(TFRecordDataset(pipe, index=True))
    writer = threading.Thread(target=lambda: pathlib.Path(pipe).write_text("a\nb\nc"), daemon=True)
    writer.start()
    assert list(TextLineDataset(pipe)) == [b"a", b"b", b"c"]
    writer.join(60)


def write_records(path, records, mode="wb"):
    source = str(path) + ".part"
    with TFRecordWriter(source) as writer:
        for record in records:
            writer.write(record)
    with open(path, mode) as file:
        file.write(pathlib.Path(source).read_bytes())


def append(path, text):
    with open(path, "ab") as file:
        file.write(text)


class TestFilesThatGrow:
    """The first part is larger than the buffer, so that reading begins before the file grows."""

    def test_lines(self, tmp_path):
        path = tmp_path / "lines"
        path.write_bytes(b"old\n" * 100)
        iterator = iter(TextLineDataset(str(path), buffer_size=16))
        assert next(iterator) == b"old"
        append(path, b"new\n" * 3)
        assert list(iterator)[-4:] == [b"old", b"new", b"new", b"new"]

    def test_a_file_that_was_empty(self, tmp_path):
        path = tmp_path / "empty"
        path.touch()
        stream = open_bytes(str(path))
        assert stream.remaining is None
        append(path, b"now")
        assert stream.more(b"", 100) == b"now"
        stream.close()

    def test_tfrecords(self, tmp_path):
        path = tmp_path / "records"
        write_records(path, [b"x" * 1000] * 20)
        iterator = iter(TFRecordDataset(str(path), buffer_size=1))
        next(iterator)
        write_records(path, [b"y" * 1000] * 3, "ab")
        assert list(iterator)[-4:] == [b"x" * 1000] + [b"y" * 1000] * 3

    def test_fixed_length_records(self, tmp_path):
        path = tmp_path / "fixed"
        path.write_bytes(b"ab" * 100)
        iterator = iter(FixedLengthRecordDataset(str(path), 2, buffer_size=8))
        next(iterator)
        append(path, b"cd" * 3)
        assert list(iterator)[-4:] == [b"ab", b"cd", b"cd", b"cd"]

    def test_csv(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_bytes(b"1,a\n" * 2000)
        iterator = iter(CsvDataset(str(path), [0, ""], buffer_size=16))
        next(iterator)
        append(path, b"2,b\n" * 3)
        assert [int(row[0]) for row in iterator][-4:] == [1, 2, 2, 2]

    def test_an_index_of_them_is_refused(self, tmp_path):
        path = tmp_path / "records"
        write_records(path, [b"x"] * 5)
        dataset = TFRecordDataset(str(path), index=True)
        assert len(dataset) == 5
        write_records(path, [b"y"], "ab")
        with pytest.raises(
            DataLossError, match="written to while it is read by index.*make the Dataset anew"
        ) as caught:
            list(dataset)
        assert caught.value.filename == str(path)
        assert len(list(TFRecordDataset(str(path), index=True))) == 6


@pytest.mark.parametrize(
    "make",
    [TextLineDataset, lambda path: FixedLengthRecordDataset(path, 2, header_bytes=2)],
    ids=["text", "fixed"],
)
def test_a_position_behind_the_end_of_a_file_that_shrank_is_refused(tmp_path, make):
    path = tmp_path / "file"
    path.write_bytes(b"a\n" * 50)
    cursor = make(str(path))._node.open(PlanRun())
    cursor.read(20)
    state = cursor.get_state()
    path.write_bytes(b"a\n" * 10)
    with pytest.raises(DataLossError, match="shorter than the saved position: 20 bytes"):
        make(str(path))._node.open(PlanRun()).set_state(state)
