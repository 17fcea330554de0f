"""CSV files: records, their errors, and places in them."""

import csv
import gzip
import itertools
import json
import zlib

import numpy as np
import pytest

from stratax.data import CsvDataset, Dataset
from stratax.data.plan import PlanRun
from stratax.errors import DataLossError, FileMissingError


def written(tmp_path, content, name="file.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def cursor_of(dataset):
    return dataset._node.open(PlanRun())


def rest(cursor, limit=3):
    """All that a cursor still gives; what it raises stands as its message."""
    found = []
    while True:
        try:
            block = cursor.read(limit)
        except StopIteration:
            return found
        except Exception as error:
            found.append(str(error))
            continue
        found += [tuple(block.row(i)) for i in range(block.count)]


def test_columns_have_the_dtypes_of_their_defaults(tmp_path):
    file = written(tmp_path, '1,2.5,3,"a, ""b""",0.1\n,,,,\n')
    defaults = [np.int32(7), 1.5, np.int64(9), "none", np.float64(2)]
    first, second = CsvDataset(file, defaults).as_numpy_iterator()
    assert first == (1, 2.5, 3, b'a, "b"', 0.1)
    assert second == (7, 1.5, 9, b"none", 2)
    kinds = [np.int32, np.float32, np.int64, bytes, np.float64]
    assert [type(value) for value in first] == [type(value) for value in second] == kinds


def test_it_reads_what_pythons_csv_reads_whatever_the_block(tmp_path):
    rows = [[str(i), f'say "{i}"\nand, more' if i % 3 else f"é{i}"] for i in range(1000)]
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    expected = [(int(n), text.encode()) for n, text in rows]
    assert list(CsvDataset(str(path), [0, ""])) == expected
    for buffer_size in (1, 7, 1000):
        assert rest(cursor_of(CsvDataset(str(path), [0, ""], buffer_size=buffer_size)), 300) == expected


def test_headers_line_ends_and_blank_lines_are_tensorflows(tmp_path):
    first = written(tmp_path, "n\r\n1\r\n\r\n3", "a.csv")
    second = written(tmp_path, "n\n4\n", "b.csv")
    assert list(CsvDataset([first, second], [-1], header=True)) == [(1,), (-1,), (3,), (4,)]
    assert list(CsvDataset([], [-1])) == []
    cursor = cursor_of(CsvDataset([written(tmp_path, ""), second], [-1], header=True))
    with pytest.raises(DataLossError, match=r"the file is empty and has no header.*file\.csv"):
        cursor.read(1)
    assert rest(cursor) == [(4,)]


NUMBERS = {
    "0x1p3": 8.0,
    "-0X.8p1": -1.0,
    "0x10": 16.0,
    "0x1p-1080": 0.0,
    "0x1p1030": np.inf,
    "-0x1p1030": -np.inf,
    "nan(1)": np.nan,
    " NAN() ": np.nan,
    "1e400": np.inf,
    " +.5\t": 0.5,
    "5.": 5.0,
    "infinity": np.inf,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_are_read_as_c_reads_them(tmp_path, dtype):
    file = written(tmp_path, "\n".join([*NUMBERS, ""]))
    read = [number for (number,) in CsvDataset(file, [dtype])]
    np.testing.assert_array_equal(read, np.array(list(NUMBERS.values()), dtype))
    assert list(CsvDataset(written(tmp_path, "1e39,2"), [np.float32, 0])) == [(np.inf, 2)]


@pytest.mark.parametrize(
    "text", [b"\xa07", b"7\x1c", b"\x857", b"1_0", b"0x", b"0x1p", b"nan(", b"1f", b"0b1", b" "]
)
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_what_c_does_not_take_for_a_number_is_none(tmp_path, text, dtype):
    with pytest.raises(DataLossError, match="column 0 with value="):
        list(CsvDataset(written(tmp_path, text + b",x\n"), [dtype, ""]))


def test_compressed_files_give_the_same(tmp_path):
    content = b"".join(b"%d,x%d\n" % (i, i) for i in range(5000))
    plain = CsvDataset(written(tmp_path, content), [0, ""])
    packed = CsvDataset(written(tmp_path, gzip.compress(content), "g"), [0, ""], "GZIP")
    deflated = CsvDataset(written(tmp_path, zlib.compress(content), "z"), [0, ""], "ZLIB")
    assert list(plain) == list(packed) == list(deflated)


def test_a_place_is_exact_in_every_file_and_between_blocks(tmp_path):
    quoted = "".join(f'{i},"line\nof {i}"\n' for i in range(300))
    files = [written(tmp_path, "n,t\n" + quoted, "a"), written(tmp_path, "n,t\n", "b")]
    files.append(written(tmp_path, "n,t\n" + "".join(f"{i},x\n" for i in range(600)), "c"))
    dataset = CsvDataset(files, [0, ""], header=True)
    whole = rest(cursor_of(dataset), 64)
    assert len(whole) == 900
    for start in (0, 1, 255, 256, 257, 299, 300, 301, 555, 899, 900):
        cursor = cursor_of(dataset)
        taken = 0
        while taken < start:
            taken += cursor.read(min(37, start - taken)).count
        state = json.loads(json.dumps(cursor.get_state()))
        again = cursor_of(dataset)
        again.set_state(state)
        assert again.get_state()["names"] == state["names"]
        assert rest(again, 50) == whole[start:]
        skipped = cursor_of(dataset)
        assert skipped.skip(start) == start
        assert rest(skipped) == whole[start:]
    assert cursor_of(dataset).skip(1000) == 900


def test_a_saved_place_is_not_reached_by_reading_from_the_beginning(tmp_path):
    file = written(tmp_path, "".join(f"{i}\n" for i in range(10_000)))
    cursor = cursor_of(CsvDataset(file, [0]))
    cursor.skip(9_000)
    state = cursor.get_state()
    assert 9_000 - 256 <= state["record"] <= 9_000
    assert state["offset"] > 40_000


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,1.0,a", "Expected: column 0 of dtype=int32.*column 0 with value=b'x'"),
        ("3000000000,1.0,a", "column 0 with value=b'3000000000'"),
        ("1_0,1.0,a", "column 0 with value=b'1_0'"),
        ("1,y,a", "dtype=float32.*column 1 with value=b'y'"),
        ("1,2.0", r"Expect 3 fields but have 2 in record. Received: 2 columns: record=\[b'1', b'2.0'\]"),
        ("1,2.0,a,b", "Expect 3 fields but have more in record. Received: 4 columns"),
        (",2.0,a", "with a value in every record, as it has no default.*column 0 with value=b''"),
        ("NA,2.0,a", "no default.*value=b'NA'"),
    ],
)
def test_a_record_that_does_not_fit_is_named_and_only_it_is_lost(tmp_path, line, message):
    file = written(tmp_path, f'1,1.0,"a\nb"\n2,2.0,b\n{line}\n4,4.0,d\n')
    dataset = CsvDataset(file, [np.int32, 0.0, ""], na_value="NA")
    cursor = cursor_of(dataset)
    for limit in (1, 100):
        found = rest(cursor_of(dataset), limit)
        assert [row[0] for row in found if isinstance(row, tuple)] == [1, 2, 4]
    cursor.skip(2)
    with pytest.raises(DataLossError, match=rf"{message}.*file=.*record 2, line 4") as caught:
        cursor.read(5)
    assert (caught.value.filename, caught.value.record) == (file, 2)
    after = cursor_of(dataset)
    after.set_state(cursor.get_state())
    assert rest(after) == [(4, 4.0, b"d")]


def test_a_place_behind_a_record_that_cannot_be_read_is_exact(tmp_path):
    file = written(tmp_path, 'a\n"b"c\nd\n"e')
    dataset = CsvDataset(file, [""])
    whole = rest(cursor_of(dataset))
    assert [type(row) for row in whole] == [tuple, str, tuple, str]
    for start in range(5):
        cursor = cursor_of(dataset)
        for _ in range(start):
            try:
                cursor.read(1)
            except DataLossError:
                continue
        again = cursor_of(dataset)
        again.set_state(cursor.get_state())
        assert rest(again) == whole[start:]
        skipped = cursor_of(dataset)
        assert skipped.skip(start) == start
        assert rest(skipped) == whole[start:]


def test_broken_quotes_and_long_fields_are_named(tmp_path):
    def read(content, **options):
        return list(CsvDataset(written(tmp_path, content), [""], **options))

    with pytest.raises(DataLossError, match=r"unexpected end of data.*record 1, which ends in line 2"):
        read('a\n"b\n'.replace("\n", "\n", 1))
    with pytest.raises(DataLossError, match=r"',' expected after '\"'.*record 0"):
        read('"a"b\n')
    assert read("x" * 200_000) == [(b"x" * 200_000,)]
    assert read('"a\n', use_quote_delim=False) == [(b'"a',)]


def test_damaged_and_mistaken_files_are_named(tmp_path):
    content = b"".join(b"%d\n" % i for i in range(50_000))
    packed = gzip.compress(content)
    cut = CsvDataset(written(tmp_path, packed[: len(packed) // 2]), [0], "GZIP")
    found = rest(cursor_of(cut), 1000)
    assert [row[0] for row in found[:-1]] == list(range(len(found) - 1))
    assert "cut off" in found[-1]
    with pytest.raises(DataLossError, match="Pass compression_type='GZIP'"):
        list(CsvDataset(written(tmp_path, packed), [0]))
    with pytest.raises(DataLossError, match="it is not GZIP content"):
        list(CsvDataset(written(tmp_path, content), [0], "GZIP"))
    with pytest.raises(DataLossError, match="a directory is there"):
        list(CsvDataset(str(tmp_path), [0]))
    missing = CsvDataset([str(tmp_path / "no.csv"), written(tmp_path, "5\n")], [0])
    cursor = cursor_of(missing)
    with pytest.raises(FileMissingError, match=r"no\.csv"):
        cursor.read(1)
    assert rest(cursor) == [(5,)]


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path):
    file = written(tmp_path, "1,2\n" + "3," * 200_000)
    cursor = cursor_of(CsvDataset(file, [0], select_cols=[0], buffer_size=300, max_record_bytes=1000))
    found = rest(cursor)
    assert found[0] == (1,)
    assert "more than max_record_bytes=1000 bytes" in found[1]
    assert len(found) == 2


def test_files_come_from_anywhere_fsspec_opens():
    import fsspec

    with fsspec.open("memory://tests/rows.csv", "wb") as file:
        file.write(b"1\n2\n")
    assert list(CsvDataset("memory://tests/rows.csv", [0])) == [(1,), (2,)]


def test_files_may_be_named_without_an_end(tmp_path):
    names = Dataset.from_tensor_slices(
        [written(tmp_path, "1\n2\n", "a"), written(tmp_path, "3\n", "b")]
    ).repeat()
    assert [int(n) for (n,) in itertools.islice(CsvDataset(names, [0]), 7)] == [1, 2, 3, 1, 2, 3, 1]
