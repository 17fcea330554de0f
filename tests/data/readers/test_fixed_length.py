"""FixedLengthRecordDataset: records of one length between a header and a footer."""

import gzip
import zlib

import pytest

from stratax.data import FixedLengthRecordDataset
from stratax.data.readers._fixed_length import FixedLengthFormat
from stratax.errors import BadArgumentError, DataLossError

BODY = bytes(range(60))


@pytest.mark.parametrize("buffer_size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("size", "header", "footer"), [(1, 0, 0), (5, 0, 0), (4, 3, 1), (60, 0, 0), (10, 5, 5)]
)
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_records_between_header_and_footer(tmp_path, size, header, footer, buffer_size, compression):
    body = BODY[header : len(BODY) - footer]
    (tmp_path / "a").write_bytes(gzip.compress(BODY) if compression else BODY)
    ds = FixedLengthRecordDataset([tmp_path / "a"] * 2, size, header, footer, buffer_size, compression)
    assert list(ds) == [body[i : i + size] for i in range(0, len(body), size)] * 2


@pytest.mark.parametrize(("compression", "num_whole"), [(None, 0), ("GZIP", 2)])
def test_what_is_no_whole_number_of_records_is_reported(tmp_path, compression, num_whole):
    (tmp_path / "a").write_bytes(gzip.compress(BODY) if compression else BODY)
    elements = iter(FixedLengthRecordDataset(tmp_path / "a", 25, compression_type=compression))
    assert [next(elements) for _ in range(num_whole)] == [BODY[:25], BODY[25:50]][:num_whole]
    with pytest.raises(
        DataLossError,
        match=r"not an exact multiple of the record length \(25 bytes\): 10 bytes.*"
        rf"offset={25 * num_whole}",
    ):
        next(elements)
    assert list(elements) == []
    with pytest.raises(DataLossError, match=r"Excluding the header \(10000 bytes\) and footer \(0 bytes\)"):
        list(FixedLengthRecordDataset(tmp_path / "a", 1, 10_000, compression_type=compression))


def test_an_empty_file_has_no_records_unless_a_header_is_missing(tmp_path):
    (tmp_path / "a").touch()
    assert list(FixedLengthRecordDataset(tmp_path / "a", 3)) == []
    with pytest.raises(DataLossError, match="not an exact multiple of the record length"):
        list(FixedLengthRecordDataset(tmp_path / "a", 3, header_bytes=1))


@pytest.mark.parametrize("compression", ["", "ZLIB"])
@pytest.mark.parametrize("buffer_size", [1, 11, 1000])
def test_records_are_skipped_and_the_place_is_found_again(tmp_path, compression, buffer_size):
    (tmp_path / "a").write_bytes(zlib.compress(BODY) if compression else BODY)
    form = FixedLengthFormat(7, 2, 2, compression, buffer_size)
    whole = [BODY[i : i + 7] for i in range(2, 58, 7)]
    for count in range(10):
        stream = form.open(str(tmp_path / "a"))
        assert stream.skip(count) == min(count, 8)
        other = form.open(str(tmp_path / "a"))
        other.seek(*stream.place)
        for reader in (stream, other):
            found = []
            while True:
                try:
                    found += reader.read().records
                except StopIteration:
                    break
            assert found == whole[count:]
            reader.close()


def test_wrong_arguments_raise():
    with pytest.raises(BadArgumentError, match="record_bytes"):
        FixedLengthRecordDataset("a", 0)
    with pytest.raises(BadArgumentError, match="num_parallel_reads"):
        FixedLengthRecordDataset("a", 1, num_parallel_reads=0)
