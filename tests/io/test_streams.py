"""Content of files, read on, passed over, compressed, cut off and damaged."""

import gzip
import pickle
import zlib

import fsspec
import pytest

from stratax.errors import BadArgumentError, DataLossError, FileMissingError
from stratax.io import as_compression, guess_compression, open_bytes

CONTENT = bytes(range(256)) * 20


@pytest.fixture(params=["local", "memory"])
def put(request, tmp_path):
    """Writes a file somewhere and gives its name."""

    def put(content):
        name = str(tmp_path / "a") if request.param == "local" else "memory://files/a"
        with fsspec.open(name, "wb") as file:
            file.write(content)
        return name

    return put


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_content_is_read_on_behind_a_tail(put, compression, size):
    compress = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[compression]
    stream = open_bytes(put(compress(CONTENT)), compression)
    read, tail = b"", b""
    while len(content := stream.more(tail, size)) > len(tail):
        assert content.startswith(tail)
        assert len(content) <= len(tail) + size
        read += content[len(tail) :]
        tail = content[-3:]
    assert read == CONTENT
    assert stream.damage is None
    assert stream.remaining in (0, None)
    stream.close()


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_content_is_passed_over(put, compression):
    stream = open_bytes(put(gzip.compress(CONTENT) if compression else CONTENT), compression)
    assert stream.skip(1000) == 1000
    assert stream.more(b"", 10) == CONTENT[1000:1010]
    assert stream.skip(1 << 40) == len(CONTENT) - 1010
    assert stream.more(b"", 1) == b""
    stream.close()


def test_compressed_streams_one_after_another_are_one_content(put):
    stream = open_bytes(put(gzip.compress(b"one") + gzip.compress(b"two") + bytes(10)), "GZIP")
    assert stream.more(b"", 100) == b"onetwo"
    assert stream.damage is None
    stream.close()


@pytest.mark.parametrize("kept", [1, 5, 20, -1])
def test_compressed_content_that_is_cut_off_is_noticed(put, kept):
    stream = open_bytes(put(gzip.compress(CONTENT)[:kept]), "GZIP")
    content = stream.more(b"", 1 << 20)
    assert CONTENT.startswith(content)
    assert stream.damage == "the GZIP content is cut off"
    stream.close()


def test_content_whose_checksum_is_wrong_is_distinguished_from_what_is_not_compressed(put):
    for at, check in ((-8, "data"), (-1, "length")):
        compressed = bytearray(gzip.compress(CONTENT))
        compressed[at] ^= 1
        stream = open_bytes(put(compressed), "GZIP")
        stream.more(b"", 1 << 20)
        assert (
            f"the checksum of the GZIP content is wrong (Error -3 while decompressing data: incorrect {check}"
            in (stream.damage or "")
        )
        stream.close()


def test_what_stands_before_damage_is_read(put):
    compressed = bytearray(zlib.compress(CONTENT * 50, 0))
    compressed[100_000] ^= 1
    stream = open_bytes(put(compressed), "ZLIB")
    content = stream.more(b"", 1 << 20)
    assert len(content) > 99_000
    assert stream.damage is not None
    assert stream.more(b"", 10) == b""
    stream.close()


def test_what_is_no_file_is_reported(put):
    name = put(b"")
    with pytest.raises(FileMissingError, match="no such file.*nothing"):
        open_bytes(name + "nothing")
    with pytest.raises(DataLossError, match="a directory is there"):
        open_bytes(name.rpartition("/")[0])


def test_compressions_have_names():
    assert [as_compression(name) for name in (None, "", "GZIP", "ZLIB")] == ["", "", "GZIP", "ZLIB"]
    with pytest.raises(BadArgumentError, match="compression_type is 'GZIP'"):
        as_compression("gzip")
    assert guess_compression(gzip.compress(b"")) == "GZIP"
    assert [guess_compression(zlib.compress(b"", level)) for level in (0, 6, 9)] == ["ZLIB"] * 3
    assert guess_compression(b"") == guess_compression(b"xy") == ""


def test_a_missing_file_and_the_error_for_it_survive_pickling(tmp_path):
    with pytest.raises(FileMissingError) as caught:
        open_bytes(str(tmp_path / "nothing"))
    assert caught.value.filename == str(tmp_path / "nothing")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.filename) == (
        FileMissingError,
        str(caught.value),
        caught.value.filename,
    )


def test_an_empty_compressed_file_of_unknown_size_has_no_content(monkeypatch):
    fsspec.filesystem("memory").pipe_file("/files/empty", b"")
    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.size", lambda self, path: None)
    stream = open_bytes("memory://files/empty", "GZIP")
    assert stream.remaining is None
    assert stream.more(b"", 10) == b""
    assert stream.damage is None
    stream.close()
