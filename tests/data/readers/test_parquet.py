"""Parquet files: rows, places in row groups, and files that are none."""

import itertools
import json
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

from stratax.data import Dataset, ParquetDataset, TensorSpec
from stratax.data.plan import PlanRun
from stratax.errors import BadArgumentError, DataError, DataLossError, FileMissingError, MissingPackageError


@pytest.fixture
def files(tmp_path):
    found = []
    for number, count in enumerate((25, 0, 13)):
        start = number * 100
        table = pa.table(
            {
                "n": pa.array(range(start, start + count), pa.int16()),
                "flag": pa.array([i % 2 == 0 for i in range(count)], pa.bool_()),
                "text": pa.array([f"é{i}" for i in range(count)], pa.string()),
                "pair": pa.array([[i, i + 0.5] for i in range(count)], pa.list_(pa.float32(), 2)),
            }
        )
        found.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(table, found[-1], row_group_size=10)
    return found


NUMBERS = [*range(25), *range(200, 213)]


def test_rows_are_dicts_with_the_columns_dtypes(files):
    dataset = ParquetDataset(files)
    assert dataset.element_spec == {
        "flag": TensorSpec((), bool),
        "n": TensorSpec((), "int16"),
        "pair": TensorSpec((2,), "float32"),
        "text": TensorSpec((), object),
    }
    assert [int(row["n"]) for row in dataset] == NUMBERS
    first = next(iter(dataset.batch(7)))
    assert first["text"].tolist() == [f"é{i}".encode() for i in range(7)]
    assert first["pair"].dtype == np.float32
    first["n"] += 1
    assert [int(row["n"]) for row in dataset] == NUMBERS


def test_columns_are_chosen(files):
    assert [set(row) for row in ParquetDataset(files[:1], ["n", "flag"]).take(1)] == [{"n", "flag"}]
    with pytest.raises(DataError, match=r"lacks columns.*without \['other'\]"):
        list(ParquetDataset(files, ["n", "other"]))


@pytest.mark.parametrize("num_rows", [1, 3, 1024])
def test_every_place_is_exact(files, num_rows):
    def make():
        return ParquetDataset(files, ["n"], num_rows=num_rows)

    for start in range(len(NUMBERS) + 1):
        iterator = iter(make())
        for _ in range(start):
            next(iterator)
        again = iter(make())
        again.set_state(json.loads(json.dumps(iterator.get_state())))
        assert [int(row["n"]) for row in again] == NUMBERS[start:]
        cursor = make()._node.open(PlanRun())
        assert cursor.skip(start) == start
        assert [int(row[0]) for row in cursor.rows()] == NUMBERS[start:]
    assert make()._node.open(PlanRun()).skip(1000) == len(NUMBERS)


def test_skipping_passes_over_whole_row_groups(files):
    cursor = ParquetDataset(files, ["n"])._node.open(PlanRun())
    cursor.skip(22)
    assert cursor.get_state() == {"names": {"position": 0}, "group": 2, "row": 2}


def test_lists_of_differing_lengths_are_arrays(tmp_path):
    file = str(tmp_path / "ragged.parquet")
    pq.write_table(pa.table({"r": [[1] * (i % 3) for i in range(8)]}), file)
    dataset = ParquetDataset(file)
    assert dataset.element_spec == {"r": TensorSpec((None,), "int64")}
    assert [len(row["r"]) for row in dataset] == [i % 3 for i in range(8)]
    assert next(iter(dataset.padded_batch(8)))["r"].shape == (8, 2)


def test_a_missing_value_is_named_and_the_other_rows_are_read(tmp_path):
    file = str(tmp_path / "null.parquet")
    pq.write_table(pa.table({"n": [*range(10), 1, 2, None, 4]}), file, row_group_size=5)
    iterator = iter(ParquetDataset(file).skip(10))
    assert [int(next(iterator)["n"]) for _ in range(2)] == [1, 2]
    with pytest.raises(DataError, match=r"missing values.*'n of .*null\.parquet' with 1 of them") as caught:
        next(iterator)
    assert (caught.value.filename, caught.value.record) == (file, 12)
    assert [int(row["n"]) for row in iterator] == [4]
    assert [int(row["n"]) for row in ParquetDataset(file).ignore_errors()] == [*range(10), 1, 2, 4]


def test_types_that_are_no_arrays_are_refused(tmp_path):
    file = str(tmp_path / "struct.parquet")
    pq.write_table(pa.table({"s": [{"a": 1}]}), file)
    with pytest.raises(DataError, match=r"type that is no array.*column 's' of type struct"):
        list(ParquetDataset(file))


def test_files_that_differ_are_refused(files, tmp_path):
    other = str(tmp_path / "other.parquet")
    pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), other)
    with pytest.raises(DataError, match=r"need the same columns.*int16.*other\.parquet.*int64"):
        list(ParquetDataset([files[0], other], ["n"]))


def test_damaged_and_missing_files_are_named_and_the_next_one_is_read(files, tmp_path):
    content = pathlib.Path(files[0]).read_bytes()
    cut, text = tmp_path / "cut", tmp_path / "text"
    cut.write_bytes(content[:-20])
    text.write_bytes(b"n\n1\n")
    for bad, kind, message in [
        (str(cut), DataLossError, "A Parquet file can't be read"),
        (str(text), DataLossError, "A Parquet file can't be read"),
        (str(tmp_path / "none"), FileMissingError, "no such file"),
        (str(tmp_path), DataLossError, "a directory is there"),
    ]:
        iterator = iter(ParquetDataset([files[2], bad, files[2]], ["n"]))
        assert [int(next(iterator)["n"]) for _ in range(13)] == NUMBERS[25:]
        with pytest.raises(kind, match=message):
            next(iterator)
        assert [int(row["n"]) for row in iterator] == NUMBERS[25:]


def test_a_damaged_page_is_named(files, tmp_path):
    content = bytearray(pathlib.Path(files[0]).read_bytes())
    content[4:40] = bytes(36)
    bad = tmp_path / "page"
    bad.write_bytes(content)
    with pytest.raises(DataLossError, match="A Parquet file can't be read") as caught:
        list(ParquetDataset(str(bad)))
    assert caught.value.filename == str(bad)


def test_urls_and_arguments(files):
    import fsspec

    with fsspec.open("memory://tests/rows.parquet", "wb") as file:
        file.write(pathlib.Path(files[2]).read_bytes())
    assert len(list(ParquetDataset("memory://tests/rows.parquet"))) == 13
    assert isinstance(ParquetDataset(files), Dataset)
    with pytest.raises(BadArgumentError, match="each once"):
        ParquetDataset(files, ["n", "n"])
    with pytest.raises(BadArgumentError, match="num_rows"):
        ParquetDataset(files, num_rows=0)
    with pytest.raises(DataError, match="element_spec of no files"):
        _ = ParquetDataset([]).element_spec
    assert list(ParquetDataset([])) == []


def test_without_pyarrow_the_error_tells_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingPackageError, match=r'pip install "stratax-train\[parquet\]"'):
        ParquetDataset("file")


def test_files_may_be_named_without_an_end(files):
    rows = ParquetDataset(Dataset.from_tensor_slices(files).repeat(), ["n"])
    assert rows.element_spec == ParquetDataset(files, ["n"]).element_spec
    assert [int(row["n"]) for row in itertools.islice(rows, 60)] == [*NUMBERS, *NUMBERS[: 60 - len(NUMBERS)]]


def test_files_of_a_store_are_closed(files, monkeypatch):
    opened = []

    def noting(self, path, *args, **kwargs):
        opened.append(open_file(self, path, *args, **kwargs))
        return opened[-1]

    open_file = LocalFileSystem.open
    monkeypatch.setattr(LocalFileSystem, "open", noting)
    assert len(list(ParquetDataset([f"local://{files[2]}", f"local://{files[1]}"], ["n"]))) == 13
    assert len(opened) >= 2
    assert all(file.closed for file in opened)
