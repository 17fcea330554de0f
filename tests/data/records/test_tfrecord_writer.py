"""TFRecordWriter: the bytes it writes, and that a file stands under its name only as a whole."""

import gc
import os
import resource
import signal
import stat
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

from stratax.data import TFRecordDataset, TFRecordOptions, TFRecordWriter
from stratax.errors import (
    BadArgumentError,
    BadTypeError,
    DataLossError,
    FileAccessError,
    FileMissingError,
)


@pytest.mark.parametrize(("kind", "compression"), [("plain", None), ("gzip", "GZIP"), ("zlib", "ZLIB")])
def test_the_same_records_give_the_bytes_that_tensorflow_wrote(shared, tmp_path, kind, compression):
    golden = shared / "golden" / "tfrecord" / f"{kind}.tfrecord"
    records = list(TFRecordDataset(golden, compression))
    with TFRecordWriter(tmp_path / "out", TFRecordOptions(compression)) as writer:
        for record in records:
            writer.write(record)
    # What zlib makes of them may differ between its versions.
    if kind == "plain" or zlib.ZLIB_RUNTIME_VERSION.startswith("1.2"):
        assert (tmp_path / "out").read_bytes() == golden.read_bytes()
    assert list(TFRecordDataset(tmp_path / "out", compression)) == records


def test_the_file_appears_when_it_is_closed(tmp_path):
    (tmp_path / "out").write_bytes(b"older")
    writer = TFRecordWriter(tmp_path / "out")
    writer.write(b"x")
    writer.flush()
    assert (tmp_path / "out").read_bytes() == b"older"
    writer.close()
    writer.close()
    assert os.listdir(tmp_path) == ["out"]
    assert list(TFRecordDataset(tmp_path / "out")) == [b"x"]


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    TFRecordWriter(tmp_path / "out").close()
    (tmp_path / "plain").touch()
    modes = [stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("out", "plain")]
    assert modes[0] == modes[1]


def test_an_exception_leaves_nothing(tmp_path):
    def fail():
        with TFRecordWriter(tmp_path / "out") as writer:
            writer.write(b"x")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert os.listdir(tmp_path) == []


def test_a_writer_that_nobody_closed_leaves_nothing_and_says_so(tmp_path):
    def forget():
        TFRecordWriter(tmp_path / "out").write(b"x")
        gc.collect()

    with pytest.warns(RuntimeWarning, match="was not closed, so its file was not made.*out"):
        forget()
    assert os.listdir(tmp_path) == []


_ENDLESS = """
import sys
from stratax.data import TFRecordWriter
with TFRecordWriter(sys.argv[1]) as writer:
    while True:
        writer.write(bytes(100_000))
"""


def test_a_killed_writer_leaves_nothing_under_the_name(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, str(tmp_path / "out.tfrecord")],
        env={**os.environ, "STRATAX_SIMULATE": ""},
    )
    try:
        deadline = time.monotonic() + 60
        while not any(entry.stat().st_size > 1 << 20 for entry in os.scandir(tmp_path)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    assert not (tmp_path / "out.tfrecord").exists()
    assert list(tmp_path.glob("*.tfrecord")) == []


def test_whatever_is_bytes_can_be_written(tmp_path):
    with TFRecordWriter(tmp_path / "out") as writer:
        for record in (b"a", bytearray(b"b"), memoryview(b"c"), np.bytes_(b"d"), np.array(b"e", object)):
            writer.write(record)
    assert list(TFRecordDataset(tmp_path / "out")) == [b"a", b"b", b"c", b"d", b"e"]


def test_a_file_at_a_url_appears_when_it_is_closed():
    url = "memory://writer/out.tfrecord"
    with TFRecordWriter(url, "GZIP") as writer:
        writer.write(b"x")
        with pytest.raises(FileMissingError, match="no such file"):
            list(TFRecordDataset(url))
    assert list(TFRecordDataset(url, "GZIP")) == [b"x"]


def test_options_are_those_of_zlib(tmp_path):
    sizes = []
    for level in (0, 9):
        with TFRecordWriter(tmp_path / "out", TFRecordOptions("ZLIB", compression_level=level)) as writer:
            writer.write(bytes(10_000))
        sizes.append((tmp_path / "out").stat().st_size)
    assert sizes[0] > 10_000 > 100 > sizes[1]
    assert TFRecordOptions(TFRecordOptions("GZIP")).compression_type == "GZIP"


def test_wrong_use_raises(tmp_path):
    writer = TFRecordWriter(tmp_path / "out")
    with pytest.raises(BadTypeError, match="A record is bytes.*'text'"):
        writer.write("text")
    writer.close()
    with pytest.raises(BadArgumentError, match="writer is closed"):
        writer.write(b"x")
    with pytest.raises(BadArgumentError, match="compression_type is"):
        TFRecordOptions("LZ4")
    with pytest.raises(BadTypeError, match="options is a TFRecordOptions"):
        TFRecordWriter(tmp_path / "out", 3)
    with pytest.raises(FileMissingError, match="no such folder.*nowhere"):
        TFRecordWriter(tmp_path / "nowhere" / "out")
    with pytest.raises(DataLossError, match="a directory is there"):
        TFRecordWriter(tmp_path)


@pytest.mark.parametrize(
    "numbers", [{"compression_level": 77}, {"window_bits": 99}, {"flush_mode": 77}, {"mem_level": "a"}]
)
def test_numbers_that_zlib_does_not_take_are_reported(tmp_path, numbers):
    with pytest.raises(BadArgumentError, match=f"zlib does not take these.*{next(iter(numbers))}"):
        TFRecordWriter(tmp_path / "out", TFRecordOptions("GZIP", **numbers))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("mode", [0o555, 0])
def test_a_folder_that_may_not_be_written_to_is_reported(tmp_path, unprivileged, mode):
    (tmp_path / "folder").mkdir(mode)
    unprivileged()
    path = str(tmp_path / "folder" / "out")
    with pytest.raises(FileAccessError, match="can't be written: Permission denied.*folder/out") as caught:
        TFRecordWriter(path)
    assert caught.value.filename == path


def test_what_is_no_folder_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileAccessError, match="can't be written: Not a directory"):
        TFRecordWriter(tmp_path / "file" / "out")


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_a_disk_that_is_full_is_reported_and_nothing_is_left(tmp_path, monkeypatch, compression):
    def write():
        with TFRecordWriter(tmp_path / "out", compression) as writer:
            writer.write(os.urandom(100_000))

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(FileAccessError, match="can't be written: File too large.*make room"):
            write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


def test_an_exception_on_a_full_disk_leaves_nothing_too(tmp_path):
    def write():
        with TFRecordWriter(tmp_path / "out") as writer:
            writer.write(bytes(100_000))
            raise KeyError("mine")

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(KeyError, match="mine"):
            write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["\ud55c" * 84, "x" * 250, "a::b"])
def test_any_name_that_the_system_takes_will_do(tmp_path, name):
    with TFRecordWriter(tmp_path / name) as writer:
        writer.write(b"x")
    assert os.listdir(tmp_path) == [name]
    assert list(TFRecordDataset(tmp_path / name)) == [b"x"]
