"""A damaged Parquet file is an error that names it: page checksums are verified, and text has to be UTF-8."""

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stratax.data import ParquetDataset
from stratax.data.elements import as_column
from stratax.errors import DataError, DataLossError


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "table.parquet")


def write(file, checksums=True, **options):
    table = pa.table({"x": np.arange(50), "text": [f"t{i}" for i in range(50)]})
    pq.write_table(table, file, write_page_checksum=checksums, row_group_size=30, **options)
    return [(i, f"t{i}".encode()) for i in range(50)]


def rows(file):
    return [(int(row["x"]), row["text"]) for row in ParquetDataset(file, ["x", "text"])]


def flip(file, position, bit):
    path = pathlib.Path(file)
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize(
    "options",
    [{"compression": "none", "use_dictionary": False}, {"compression": "snappy", "data_page_version": "2.0"}],
)
def test_no_flipped_bit_gives_another_value(file, options):
    expected = write(file, **options)
    content = pathlib.Path(file).read_bytes()
    num_errors = 0
    for position in range(0, len(content), 23):
        pathlib.Path(file).write_bytes(content)
        flip(file, position, position % 7)
        try:
            assert rows(file) == expected
        except DataError:
            num_errors += 1
    assert num_errors > len(content) / 23 / 2


def test_the_error_names_the_file_and_what_to_do(file):
    write(file, compression="none", use_dictionary=False)
    flip(file, pathlib.Path(file).read_bytes().index(np.int64(20).tobytes() + np.int64(21).tobytes()), 6)
    with pytest.raises(
        DataLossError, match=r"can't be read: .*(?i:crc|checksum).* Make the file again"
    ) as caught:
        rows(file)
    assert caught.value.filename == file


def test_files_without_checksums_are_read(file):
    assert write(file, checksums=False) == rows(file)


def bad_text(kind):
    values = [b"a", "é".encode(), b"\xff\xfe", b"d"]
    return pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary()).view(kind)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_that_is_not_utf_8_is_an_error_with_its_record(file, kind):
    pq.write_table(pa.table({"text": bad_text(kind), "n": [0, 1, 2, 3]}), file, store_schema=False)
    iterator = iter(ParquetDataset(file))
    assert [next(iterator)["text"] for _ in range(2)] == [b"a", "é".encode()]
    with pytest.raises(
        DataLossError, match=r"not of its type: .*UTF-?8.*Received: column 'text of"
    ) as caught:
        next(iterator)
    assert (caught.value.filename, caught.value.record) == (file, 2)
    assert next(iterator)["text"] == b"d"


def test_binary_values_may_be_anything(file):
    pq.write_table(pa.table({"text": bad_text(pa.string()).view(pa.binary())}), file)
    assert [row["text"] for row in ParquetDataset(file)] == [b"a", "é".encode(), b"\xff\xfe", b"d"]


def test_text_in_lists_and_dictionaries_is_checked():
    lists = pa.ListArray.from_arrays([0, 2, 4], bad_text(pa.string()))
    with pytest.raises(DataLossError, match="not of its type"):
        as_column("words", lists)
    with pytest.raises(DataLossError, match="not of its type"):
        as_column("words", pa.DictionaryArray.from_arrays([0, 2], bad_text(pa.string())))
    assert as_column("words", pa.array(["a", "é"])).tolist() == [b"a", "é".encode()]
    assert as_column("words", pa.array(["a", "é"], pa.large_string())).tolist() == [b"a", "é".encode()]
