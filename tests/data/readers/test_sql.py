"""Rows of a database; all values are TensorFlow 2.21's."""

import sqlite3

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, DataError

SqlDataset = tf.data.experimental.SqlDataset


@pytest.fixture
def path(tmp_path):
    found = str(tmp_path / "shop.db")
    with sqlite3.connect(found) as database:
        database.execute("create table t (id integer, name text, price real, data blob, big integer)")
        database.executemany(
            "insert into t values (?, ?, ?, ?, ?)",
            [
                (1, "ann", 3.7, b"\x00\x01", 2**40),
                (2, None, None, None, None),
                (None, "42abc", 3.0, b"xyz", -1),
            ],
        )
    database.close()
    return found


def rows(path, columns, types):
    found = SqlDataset("sqlite", path, f"select {columns} from t", types)
    return [tuple(each.numpy() for each in row) for row in found]


@pytest.mark.parametrize(
    ("columns", "types", "expected"),
    [
        ("id, name", (tf.int32, tf.string), [(1, b"ann"), (2, b""), (0, b"42abc")]),
        (
            "price, price, price",
            (tf.double, tf.int32, tf.string),
            [(3.7, 3, b"3.7"), (0.0, 0, b""), (3.0, 3, b"3.0")],
        ),
        (
            "name, name, name",
            (tf.int32, tf.double, tf.bool),
            [(0, 0.0, False), (0, 0.0, False), (42, 42.0, True)],
        ),
        (
            "big, big, big, big",
            (tf.int64, tf.int32, tf.uint8, tf.bool),
            [(2**40, 0, 0, True), (0, 0, 0, False), (-1, -1, 255, True)],
        ),
        ("big, big, big", (tf.int16, tf.int8, tf.uint16), [(0, 0, 0), (0, 0, 0), (-1, -1, 65535)]),
        ("data, data", (tf.string, tf.int32), [(b"\x00\x01", 0), (b"", 0), (b"xyz", 0)]),
        ("count(*)", (tf.int32,), [(3,)]),
    ],
)
def test_values_become_what_their_columns_dtype_says(path, columns, types, expected):
    found = rows(path, columns, types)
    assert found == expected
    dtypes = [
        [np.asarray(value).dtype.kind if not isinstance(value, bytes) else "O" for value in row]
        for row in found
    ]
    assert dtypes[0] == [np.dtype(each).kind for each in types]


def test_elements_are_described_before_anything_is_read():
    assert SqlDataset("sqlite", "nowhere", "select 1", (tf.int64,)).element_spec == (
        tf.TensorSpec([], tf.int64),
    )
    assert SqlDataset("sqlite", "nowhere", "select 1", (tf.int64,)).cardinality() == -2


def test_rows_go_through_a_pipeline_and_a_saved_position(path):
    query = "select id, name from t order by id desc"
    made = SqlDataset("sqlite", path, query, (tf.int32, tf.string)).map(lambda number, _: number)
    assert [batch.tolist() for batch in made.batch(3).repeat(2)] == [[2, 1, 0], [2, 1, 0]]
    iterator = iter(made)
    next(iterator)
    state = iterator.get_state()
    again = iter(made)
    again.set_state(state)
    assert [int(x) for x in again] == [int(x) for x in iterator] == [1, 0]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select id, name from t", r"number of columns in query \(2\) must match"),
        ("select color from t", "no such column"),
        ("delete from t", "number of columns|readonly"),
    ],
)
def test_a_query_that_fails_says_so_when_its_first_row_is_read(path, query, message):
    made = SqlDataset("sqlite", path, query, (tf.int32,))
    with pytest.raises(DataError, match=message):
        list(made)
    assert len(rows(path, "id", (tf.int32,))) == 3


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(DataError, match="unable to open database file"):
        list(SqlDataset("sqlite", str(tmp_path / "none.db"), "select 1", (tf.int32,)))
    assert list(tmp_path.iterdir()) == []


def test_drivers_and_dtypes_are_checked_when_it_is_made(path):
    with pytest.raises(BadArgumentError, match="The database type, mysql, is not supported by SqlDataset"):
        SqlDataset("mysql", path, "select id from t", (tf.int32,))
    with pytest.raises(BadArgumentError, match="must be one of tf.string.*Received: tf.float32"):
        SqlDataset("sqlite", path, "select price from t", (tf.float32,))
