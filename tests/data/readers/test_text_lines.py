"""TextLineDataset: lines as TensorFlow splits them."""

import gzip

import pytest

from stratax.data import TextLineDataset
from stratax.data.readers._text_lines import TextLineFormat
from stratax.errors import DataLossError


@pytest.mark.parametrize("buffer_size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        # What TensorFlow 2.21 gives for these.
        (b"a\nb\r\nc\rd\r\r\ne\n\nf", [b"a", b"b", b"cd", b"e", b"", b"f"]),
        (b"a\n", [b"a"]),
        (b"\n", [b""]),
        (b"", []),
        (b"a\r", [b"a"]),
        (b"a\r\n\r", [b"a"]),
        (b"x\n\x00y\n", [b"x", b"\x00y"]),
    ],
)
def test_lines_are_split_as_tensorflow_does(tmp_path, content, lines, buffer_size):
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "z").write_bytes(gzip.compress(content))
    assert list(TextLineDataset(tmp_path / "a", buffer_size=buffer_size)) == lines
    assert list(TextLineDataset([str(tmp_path / "z")] * 2, "GZIP", buffer_size)) == lines * 2


def test_a_long_line_is_read_whole(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 5_000_000 + b"\nend")
    assert [len(line) for line in TextLineDataset(tmp_path / "a")] == [5_000_000, 3]


@pytest.mark.parametrize("buffer_size", [1, 4, 1000])
def test_lines_are_skipped_and_the_place_is_found_again(tmp_path, buffer_size):
    lines = [b"a", b"", b"ccc", b"dd", b"e"]
    (tmp_path / "a").write_bytes(b"\r\n".join(lines))
    form = TextLineFormat("", buffer_size)
    for count in range(7):
        stream = form.open(str(tmp_path / "a"))
        assert stream.skip(count) == min(count, 5)
        other = form.open(str(tmp_path / "a"))
        other.seek(*stream.place)
        for reader in (stream, other):
            assert rest(reader) == lines[count:]
            reader.close()


def rest(stream):
    found = []
    while True:
        try:
            found += stream.read().records
        except StopIteration:
            return found


def test_a_cut_off_compressed_file_is_reported_behind_its_lines(tmp_path):
    (tmp_path / "z").write_bytes(gzip.compress(b"a\nb\n" * 1000)[:-6])
    found = []
    with pytest.raises(DataLossError, match="GZIP content is cut off.*record=2000, offset=4000"):
        found.extend(iter(TextLineDataset(tmp_path / "z", "GZIP")))
    (tmp_path / "a").write_bytes(b"text")
    with pytest.raises(DataLossError, match="not GZIP content.*see compression_type"):
        list(TextLineDataset(tmp_path / "a", "GZIP"))
