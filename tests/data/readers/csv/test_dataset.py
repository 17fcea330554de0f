"""The arguments of `CsvDataset` and `decode_csv`."""

import pathlib

import numpy as np
import pytest

from stratax.data import CsvDataset, Dataset, TensorSpec, decode_csv
from stratax.errors import BadArgumentError, BadTypeError, DataError
from stratax.tf import float32, int64


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("1;2;x\n3;4;y\n")
    return path


def test_columns_are_selected_or_excluded(file):
    def read(defaults, **columns):
        return list(CsvDataset(file, defaults, field_delim=";", **columns))

    assert read([0, ""], select_cols=[1, 2]) == read([0, ""], exclude_cols=[0]) == [(2, b"x"), (4, b"y")]
    assert read([0], exclude_cols=[1, 2]) == [(1,), (3,)]


def test_names_are_strings_paths_lists_or_a_dataset(file):
    names = [str(file), str(file).encode(), pathlib.Path(file), [file], np.array([str(file)])]
    names.append(Dataset.from_tensor_slices(np.array([str(file).encode()], dtype=object)))
    for name in names:
        assert len(list(CsvDataset(name, [0, 0, ""], field_delim=";"))) == 2


def test_the_spec_tells_the_columns(file):
    dataset = CsvDataset(file, [float32, int64, str], field_delim=";")
    assert dataset.element_spec == (
        TensorSpec((), "float32"),
        TensorSpec((), "int64"),
        TensorSpec((), object),
    )
    assert isinstance(dataset, Dataset)


def test_an_empty_array_stands_for_its_dtype(file):
    dataset = CsvDataset(file, [np.array([], np.int64), [5], "n"], field_delim=";")
    assert dataset.element_spec[0].dtype == np.int64
    path = file.with_name("missing.csv")
    path.write_text(";2;x")
    with pytest.raises(DataError, match="has no default"):
        list(CsvDataset(path, [np.array([], np.int64), [5], "n"], field_delim=";"))


@pytest.mark.parametrize(
    ("defaults", "options", "kind", "message"),
    [
        (
            [0],
            {"select_cols": [0], "exclude_cols": [1]},
            BadArgumentError,
            "Either select_cols or exclude_cols",
        ),
        ([], {}, BadArgumentError, "needs an entry for each column"),
        ([0], {"select_cols": [0, 1]}, BadArgumentError, "one entry for each of select_cols"),
        ([0, 0], {"select_cols": [1, 0]}, BadArgumentError, "have to increase"),
        ([0, 0], {"exclude_cols": [7]}, BadArgumentError, "exclude_cols names a column that is not there"),
        ([True], {}, BadTypeError, r"record_defaults\[0\] of dtype=bool"),
        ([[1, 2]], {}, BadArgumentError, r"one value.*shape=\(2,\)"),
        ([0], {"field_delim": ",,"}, BadArgumentError, "field_delim is one ASCII character"),
        ([0], {"compression_type": "BZ2"}, BadArgumentError, "compression_type"),
        ([0], {"buffer_size": -1}, BadArgumentError, "buffer_size"),
    ],
)
def test_arguments_are_checked(defaults, options, kind, message):
    with pytest.raises(kind, match=message):
        CsvDataset("file", defaults, **options)


def test_decode_csv_takes_one_record_or_an_array():
    assert decode_csv(b"3,x", [0, ""]) == [3, b"x"]
    number, text = decode_csv(np.array([[b"1,a"], [b',"b,"']], dtype=object), [7, ""])
    assert number.tolist() == [[1], [7]]
    assert number.dtype == np.int32
    assert text.tolist() == [[b"a"], [b"b,"]]
    assert decode_csv(["1,2", "3,4"], [0], select_cols=[1])[0].tolist() == [2, 4]
    assert [column.shape for column in decode_csv(np.array([], dtype=object), [0, ""])] == [(0,), (0,)]


def test_decode_csv_names_the_record_that_does_not_fit():
    with pytest.raises(DataError, match=r"column 0 with value=b'x', in record 1=b'x'"):
        decode_csv(["1", "x"], [0])
    with pytest.raises(DataError, match=r"several lines, in record 0"):
        decode_csv("1\n2", [0])
    with pytest.raises(DataError, match="unexpected end of data"):
        decode_csv('"1', [0])
