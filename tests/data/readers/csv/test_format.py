"""CSV files end their lines with LF, CR or both, and fields may be long, as in TensorFlow."""

import numpy as np
import pytest

from stratax.data import CsvDataset, decode_csv, make_csv_dataset
from stratax.errors import DataError, DataLossError


def rows(tmp_path, content, **options):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    return [(int(n), text) for n, text in CsvDataset(str(path), [0, ""], **options)]


@pytest.mark.parametrize("buffer_size", [1, 2, 5, None])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1,a\r2,b\r3,c", [(1, b"a"), (2, b"b"), (3, b"c")]),
        (b"1,a\r2,b\r", [(1, b"a"), (2, b"b")]),
        (b"1,a\r\n2,b\r\n", [(1, b"a"), (2, b"b")]),
        (b"1,a\r2,b\n3,c\r\n4,d", [(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d")]),
        (b'1,"a\rb"\r2,c', [(1, b"a\rb"), (2, b"c")]),
        (b'1,"a\r\nb"\r\n2,c', [(1, b"a\r\nb"), (2, b"c")]),
    ],
)
def test_any_end_of_a_line_ends_a_record_as_in_tensorflow(tmp_path, content, expected, buffer_size):
    assert rows(tmp_path, content, buffer_size=buffer_size) == expected


def test_headers_and_positions_know_carriage_returns(tmp_path):
    content = b"n,text\r" + b"".join(b"%d,x\r" % n for n in range(600))
    assert [n for n, _ in rows(tmp_path, content, header=True, use_quote_delim=False)] == list(range(600))
    dataset = CsvDataset(str(tmp_path / "table.csv"), [0, ""], header=True)
    iterator = iter(dataset)
    for _ in range(400):
        next(iterator)
    again = iter(CsvDataset(str(tmp_path / "table.csv"), [0, ""], header=True))
    again.set_state(iterator.get_state())
    assert [int(n) for n, _ in again] == list(range(400, 600))
    batch = next(iter(make_csv_dataset(str(tmp_path / "table.csv"), 5, shuffle=False, num_epochs=1)))
    assert batch["n"].tolist() == [0, 1, 2, 3, 4]


def test_a_bad_record_is_named_by_its_line(tmp_path):
    with pytest.raises(DataLossError, match="record 1, line 2"):
        rows(tmp_path, b"1,a\rb\n2,c\n")


def test_long_fields_are_read(tmp_path):
    long = b"x" * 300_000
    assert rows(tmp_path, b"1," + long + b'\n2,"' + long + b'\n"\n3,c') == [
        (1, long),
        (2, long + b"\n"),
        (3, b"c"),
    ]


DEFAULTS = [0, 0.5, "none", ""]


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ([b"1,2.5,a,b", b"-3,1e3,c d,\xff\x00"], {}),
        ([b"1,,,", b",inf,NA,x"], {"na_value": "NA"}),
        ([b"1;2;3,4;5"], {"field_delim": ";"}),
        ([b"1,2,a,b,c", b"2,3,d,e,f"], {"select_cols": [0, 1, 3, 4]}),
        ([b"1,2,a,b", b"2,3,d,e,f"], {"select_cols": [0, 1, 2, 3]}),
        ([b"0x10,0x1p3,a,b"], {}),
    ],
)
def test_lines_without_quotes_are_read_as_with_them(lines, options):
    def read(lines):
        try:
            return [
                (each.dtype, each.tolist())
                for each in decode_csv(np.array(lines, object), DEFAULTS, **options)
            ]
        except DataError as error:
            return str(error).partition("=")[0]

    delimiter = options.get("field_delim", ",").encode()
    quoted = [
        delimiter.join(b'"%b"' % field if field else field for field in line.split(delimiter))
        for line in lines
    ]
    assert read(lines) == read(quoted)


def test_the_line_that_does_not_fit_is_named():
    with pytest.raises(DataError, match="in record 1="):
        decode_csv(np.array([b"1", b"x", b"3"], object), [0])
    with pytest.raises(DataError, match="Expect 1 fields but have more in record.*in record 2="):
        decode_csv(np.array([b"1", b"2", b"3,4"], object), [0])
