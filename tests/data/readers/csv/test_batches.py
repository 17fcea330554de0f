"""`make_csv_dataset`: named columns in batches, their names and types found out."""

import itertools
import json

import numpy as np
import pytest

from stratax.data import AUTOTUNE, Dataset, TensorSpec, make_csv_dataset
from stratax.errors import BadArgumentError, BadTypeError, DataError, DataLossError, FileMissingError


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        rows = [f"{number * 10 + i},{i / 4},name{i},{i % 2}" for i in range(10)]
        (tmp_path / f"part{number}.csv").write_text("\n".join(["id,größe,name,label", *rows]) + "\n")
    return tmp_path


def ids(dataset):
    return np.concatenate([features["id"] for features, _ in dataset]).tolist()


def read(folder, **options):
    return make_csv_dataset(str(folder / "*.csv"), 4, label_name="label", num_epochs=1, **options)


def test_columns_are_named_and_batched(folder):
    dataset = read(folder, shuffle=False)
    features, label = next(iter(dataset))
    assert features["id"].tolist() == [0, 1, 2, 3]
    assert features["größe"].dtype == np.float32
    assert features["name"].tolist() == [b"name0", b"name1", b"name2", b"name3"]
    assert label.tolist() == [0, 1, 0, 1]
    assert dataset.element_spec[0]["id"] == TensorSpec((None,), "int32")
    assert ids(dataset) == list(range(30))
    assert [len(y) for _, y in dataset] == [4] * 7 + [2]


def test_shuffling_and_parallel_reading_keep_every_row(folder):
    shuffled = read(folder, shuffle_seed=3, shuffle_buffer_size=7)
    first, second = ids(shuffled), ids(shuffled)
    assert sorted(first) == sorted(second) == list(range(30))
    assert first != second != list(range(30))
    assert ids(read(folder, shuffle_seed=3, shuffle_buffer_size=7)) == first
    turns = ids(read(folder, shuffle=False, num_parallel_reads=3))
    assert turns[:6] == [0, 10, 20, 1, 11, 21]


def test_a_file_that_is_named_twice_is_read_twice(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    rows = make_csv_dataset([str(path), str(path)], 1, num_epochs=1, shuffle=False)
    assert sorted(int(row["a"][0]) for row in rows) == [1, 1, 3, 3]


def test_a_place_is_exact(folder):
    def make():
        return read(folder, shuffle_seed=3, shuffle_buffer_size=7, num_parallel_reads=2)

    whole = ids(make())
    for start in range(9):
        iterator = iter(make())
        head = [ids([next(iterator)]) for _ in range(min(start, 8))]
        again = iter(make())
        again.set_state(json.loads(json.dumps(iterator.get_state())))
        assert [*itertools.chain(*head), *(ids([b])[i] for b in again for i in range(len(b[1])))] == whole


def test_without_a_number_of_epochs_it_has_no_end_and_full_batches(folder):
    dataset = make_csv_dataset(str(folder / "part0.csv"), 4, shuffle=False)
    sizes = [len(batch["id"]) for batch in dataset.take(12)]
    assert sizes == [4] * 12
    assert dataset.element_spec["id"] == TensorSpec((4,), "int32")


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1", "-2147483648"], "int32"),
        (["1", "2147483648"], "int64"),
        (["1", "9223372036854775808"], "float32"),
        (["1", "1e38"], "float32"),
        (["1", "1e39"], "float64"),
        (["1.5", "2"], "float32"),
        (["1", "x"], object),
        (["", "NA"], object),
        (["", "7"], "int32"),
        (["1_0"], object),
        (["nan"], object),
    ],
)
def test_types_are_inferred_as_tensorflow_does(tmp_path, values, dtype):
    file = tmp_path / "file.csv"
    file.write_text("\n".join(["a,b", *(f"{value},0" for value in values)]))
    dataset = make_csv_dataset(str(file), 10, num_epochs=1, na_value="NA", shuffle=False)
    (batch,) = dataset
    assert batch["a"].dtype == np.dtype(dtype)
    if "" in values:
        assert batch["a"][0] == (b"" if dtype is object else 0)


def test_only_the_rows_asked_for_are_looked_at(tmp_path):
    file = tmp_path / "file.csv"
    file.write_text("a\n1\n2\n3.5\n")
    with pytest.raises(DataLossError, match=r"dtype=int32.*value=b'3.5'"):
        list(make_csv_dataset(str(file), 1, num_epochs=1, num_rows_for_inference=2, shuffle=False))
    kept = make_csv_dataset(
        str(file), 1, num_epochs=1, num_rows_for_inference=2, shuffle=False, ignore_errors=True
    )
    assert [int(batch["a"][0]) for batch in kept] == [1, 2]
    whole = make_csv_dataset(str(file), 3, num_epochs=1, num_rows_for_inference=None, shuffle=False)
    assert next(iter(whole))["a"].dtype == np.float32


def test_columns_are_selected_by_name_or_number_and_defaults_given(folder):
    file = str(folder / "part0.csv")
    (first, *_) = make_csv_dataset(file, 5, num_epochs=1, shuffle=False, select_columns=["name", 0])
    assert set(first) == {"id", "name"}
    columns, defaults = ["label", "id"], [np.int64(0), np.float64(0)]
    dataset = make_csv_dataset(file, 5, column_defaults=defaults, select_columns=columns, num_epochs=1)
    assert dataset.element_spec["label"].dtype == np.float64
    assert dataset.element_spec["id"].dtype == np.int64
    for wrong in ([np.int64(0), 0.0, "", np.float64(0)], [np.int64(0)]):
        with pytest.raises(BadArgumentError, match=r"an entry for each column that is read.*Expected: 2"):
            make_csv_dataset(file, 5, column_defaults=wrong, select_columns=columns, num_epochs=1)
    named = make_csv_dataset(
        file, 5, column_names=["a", "b", "c", "d"], num_epochs=1, prefetch_buffer_size=AUTOTUNE
    )
    assert set(named.element_spec) == {"a", "b", "c", "d"}
    assert isinstance(named, Dataset)


def test_arguments_are_checked(folder):
    file = str(folder / "part0.csv")
    with pytest.raises(FileMissingError, match=r"No file fits the pattern.*none\*"):
        make_csv_dataset(str(folder / "none*"), 2)
    with pytest.raises(BadArgumentError, match="Without a header the columns have no names"):
        make_csv_dataset(file, 2, header=False)
    with pytest.raises(BadArgumentError, match=r"label_name has to be one of the columns.*'x'"):
        make_csv_dataset(file, 2, label_name="x")
    with pytest.raises(BadArgumentError, match=r"select_columns names a column that is not there.*'x'"):
        make_csv_dataset(file, 2, select_columns=["x"])
    with pytest.raises(BadArgumentError, match="a number that no column has"):
        make_csv_dataset(file, 2, select_columns=[4])
    with pytest.raises(BadArgumentError, match="each column once"):
        make_csv_dataset(file, 2, select_columns=[1, 1])
    with pytest.raises(BadArgumentError, match="column_defaults needs an entry"):
        make_csv_dataset(file, 2, column_defaults=[0])
    with pytest.raises(BadArgumentError, match="names of columns have to differ"):
        make_csv_dataset(file, 2, column_names=["a", "a", "b", "c"])
    with pytest.raises(BadTypeError, match="name of a file"):
        make_csv_dataset([3], 2)
    with pytest.raises(BadArgumentError, match="file_pattern has to name a file"):
        make_csv_dataset([], 2)
    with pytest.raises(BadArgumentError, match="encoding is one that Python knows.*'nope'"):
        make_csv_dataset(file, 2, encoding="nope")
    with pytest.raises(DataError, match=r"header of a CSV file is no text.*part0\.csv.*'ascii'"):
        make_csv_dataset(file, 2, encoding="ascii")
    with pytest.raises(BadArgumentError, match="field_delim is one ASCII character.*field_delim=3"):
        make_csv_dataset(file, 2, column_names=["a", "b", "c", "d"], column_defaults=[0] * 4, field_delim=3)
    (folder / "other.csv").write_text("id,size\n")
    with pytest.raises(DataError, match=r"same header.*\['id', 'size'\]"):
        make_csv_dataset([file, str(folder / "other.csv")], 2)
    (folder / "short.csv").write_text("a,b\n1\n")
    with pytest.raises(DataError, match=r"row of another length.*2 columns.*1 in row 0"):
        make_csv_dataset(str(folder / "short.csv"), 2)
    (folder / "empty.csv").write_text("")
    with pytest.raises(DataError, match="has no header"):
        make_csv_dataset(str(folder / "empty.csv"), 2)
