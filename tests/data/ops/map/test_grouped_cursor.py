"""Batches of Examples that are parsed several at a time come out as one by one, and so do errors and places."""

import itertools
import pathlib

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax import data
from stratax.data.examples import _parse
from stratax.data.ops.map import _grouped_cursor
from stratax.data.vectorise import BatchProgram
from stratax.errors import DataError, DataLossError
from tests.data.examples.test_parse import floats, int64, record, strings

FEATURES = {
    "n": data.FixedLenFeature([], "int64"),
    "x": data.FixedLenFeature([2], "float32", [0.0, 1.0]),
    "s": data.FixedLenFeature([], "string"),
    "ids": data.FixedLenSequenceFeature([], "int64", allow_missing=True),
    "any": data.VarLenFeature("float32"),
}
NOT_PURE = []


def example(i):
    held = {"n": int64(i), "s": strings(b"s" * (i % 7)), "ids": int64(*range(i % 5))}
    held |= {"x": floats(i, -i)} if i % 3 else {}
    held |= {"any": floats(*[0.5] * (i % 4))} if i % 2 else {}
    return record(**held)


RECORDS = [example(i) for i in range(300)]


def one_by_one(function):
    """The same function, which nobody knows to be pure."""

    def map_func(records):
        NOT_PURE.clear()
        return function(records)

    return map_func


def file_of(folder, records):
    path = folder / "examples.tfrecord"
    with data.TFRecordWriter(path) as writer:
        for content in records:
            writer.write(content)
    return str(path)


def flip_a_bit(path):
    """In the middle of a file, which is within the data of a record."""
    content = bytearray(pathlib.Path(path).read_bytes())
    content[len(content) // 2] ^= 1
    pathlib.Path(path).write_bytes(content)


def outcomes(iterator):
    """The elements, and what was raised in their places."""
    found = []
    while True:
        try:
            found.append(next(iterator))
        except StopIteration:
            return found
        except Exception as e:
            found.append(e)


def assert_same(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert type(ours) is type(theirs)
        if isinstance(ours, Exception):
            assert str(ours) == str(theirs)
            # All but the function's name.
            ours_said, theirs_said = (getattr(e, "__notes__", []) for e in (ours, theirs))
            assert [note.split(" given to ")[-1] for note in ours_said] == [
                note.split(" given to ")[-1] for note in theirs_said
            ]
            assert (ours.filename, ours.record, ours.offset) == (
                theirs.filename,
                theirs.record,
                theirs.offset,
            )
            continue
        leaves, others = jax.tree.leaves(ours), jax.tree.leaves(theirs)
        for leaf, other in zip(leaves, others, strict=True):
            assert leaf.dtype == other.dtype
            np.testing.assert_array_equal(leaf, other)


def some_of(records):
    parsed = tf.io.parse_example(records, FEATURES)
    return {"image": parsed["x"], "both": (parsed["n"], parsed["n"])}, parsed["any"]


def of_two_calls(records):
    first = data.parse_example(records, {"n": FEATURES["n"]})
    return first | data.parse_example(records, {"s": FEATURES["s"]})


ONLY_PARSE = [
    lambda records: tf.io.parse_example(records, FEATURES),
    lambda records: data.parse_example(records, FEATURES)["ids"],
    some_of,
    of_two_calls,
]


@pytest.fixture
def sizes(monkeypatch):
    """How many records were parsed at a time."""
    found = []
    parse_batch = _parse._parse_batch

    def spy(records, *args):
        found.append(len(records))
        return parse_batch(records, *args)

    monkeypatch.setattr(_parse, "_parse_batch", spy)
    return found


@pytest.mark.parametrize("function", ONLY_PARSE)
@pytest.mark.parametrize(("count", "batch_size"), [(40, 1), (300, 32), (300, 299), (300, 1000)])
@pytest.mark.parametrize("num_parallel_calls", [None, 2])
def test_batches_are_as_if_parsed_one_by_one(
    tmp_path, sizes, function, count, batch_size, num_parallel_calls
):
    batches = data.TFRecordDataset(file_of(tmp_path, RECORDS[:count])).batch(batch_size)
    found = list(batches.map(function, num_parallel_calls))
    # The first batch alone, the others together.
    assert max(sizes) == max(min(count, batch_size), count - batch_size)
    assert_same(found, list(batches.map(one_by_one(function))))


def test_no_more_is_parsed_at_a_time_than_about_a_thousand_records_or_a_mebibyte(tmp_path, sizes):
    features = {"s": data.FixedLenFeature([], "string")}
    batches = data.TFRecordDataset(file_of(tmp_path, RECORDS * 10)).batch(300)
    list(batches.map(lambda records: data.parse_example(records, features)))
    # The first batch is parsed twice.
    assert sizes == [300, 300, 1200, 1200, 300]
    sizes.clear()
    large = [record(s=strings(b"0" * 100_000))] * 40
    batches = data.TFRecordDataset(file_of(tmp_path, large)).batch(4)
    list(batches.map(lambda records: data.parse_example(records, features)))
    assert max(sizes) == 12


@pytest.mark.parametrize("damage", [b"not an Example", record(n=floats(1)), record(n=int64(1, 2))])
@pytest.mark.parametrize("places", [[0], [45], [299], [8, 9, 250]])
def test_an_error_comes_when_it_is_its_turn_and_names_the_record(tmp_path, damage, places):
    records = [damage if i in places else content for i, content in enumerate(RECORDS)]
    path = file_of(tmp_path, records)
    batches = data.TFRecordDataset(path).batch(10)
    found = outcomes(iter(batches.map(ONLY_PARSE[0])))
    assert_same(found, outcomes(iter(batches.map(one_by_one(ONLY_PARSE[0])))))
    failed = [i for i, outcome in enumerate(found) if isinstance(outcome, Exception)]
    assert failed == sorted({place // 10 for place in places})
    assert found[failed[0]].record == places[0]
    with pytest.raises(DataError, match=f"Example {places[0] % 10} of the batch|Record {places[0] % 10} of"):
        raise found[failed[0]]


def test_a_damaged_file_fails_where_it_does_one_by_one(tmp_path):
    path = file_of(tmp_path, RECORDS)
    flip_a_bit(path)
    batches = data.TFRecordDataset(path).batch(7)
    expected = outcomes(iter(batches))
    assert sum(isinstance(outcome, DataLossError) for outcome in expected) == 1
    for function in (ONLY_PARSE[1], one_by_one(ONLY_PARSE[1])):
        found = outcomes(iter(batches.map(function)))
        for ours, batch in zip(found, expected, strict=True):
            if isinstance(batch, Exception):
                assert str(ours) == str(batch)
            else:
                np.testing.assert_array_equal(ours, ONLY_PARSE[1](batch))


@pytest.mark.parametrize("skipped", [0, 3])
@pytest.mark.parametrize("damaged", [[], [77, 78, 150]])
@pytest.mark.parametrize("is_file_damaged", [False, True])
def test_a_saved_place_is_behind_the_last_batch_that_was_given(tmp_path, skipped, damaged, is_file_damaged):
    records = [b"damaged %d" % i if i in damaged else content for i, content in enumerate(RECORDS)]
    path = file_of(tmp_path, records)
    if is_file_damaged:
        flip_a_bit(path)
    plan = data.TFRecordDataset(path).batch(11).map(ONLY_PARSE[0]).skip(skipped)
    expected = outcomes(iter(plan))
    for stop in range(len(expected) + 1):
        first, second = iter(plan), iter(plan)
        for _ in itertools.repeat(None, stop):
            try:
                next(first)
            except DataError:
                continue
        second.set_state(first.get_state())
        assert_same(outcomes(second), expected[stop:])


@pytest.mark.parametrize(
    "function",
    [
        lambda records: data.parse_example(records, FEATURES)["n"] + 1,
        lambda records: np.asarray(data.parse_example(records, FEATURES)["n"]),
        lambda records: (data.parse_example(records, FEATURES)["n"], len(records)),
        lambda records: (data.parse_example(records, FEATURES)["n"], records),
        lambda records: list(data.parse_example(records, FEATURES)["n"]),
        lambda records: 1 if data.parse_example(records, FEATURES)["n"] is None else 2,
        lambda records: 1 if data.parse_example(records, FEATURES)["n"][0] == 0 else 2,
        lambda records: [data.parse_example(records, FEATURES)["n"]],
        lambda records: data.parse_example(records, FEATURES, ["a"])["n"],
        lambda records: data.parse_example(records, FEATURES)["n"].shape[0],
        lambda records: {},
    ],
)
def test_a_function_that_does_more_is_called_for_every_batch(tmp_path, sizes, function):
    batches = data.TFRecordDataset(file_of(tmp_path, RECORDS)).batch(50)
    assert BatchProgram.of(function) is None
    found = list(batches.map(function))
    assert all(size == 50 for size in sizes)
    assert_same(found, list(batches.map(one_by_one(function))))


def test_a_function_of_single_records_is_called_for_each(tmp_path):
    dataset = data.TFRecordDataset(file_of(tmp_path, RECORDS)).map(ONLY_PARSE[1])
    assert [len(ids) for ids in dataset] == [i % 5 for i in range(300)]


def test_a_program_that_is_not_what_the_function_does_is_not_used(tmp_path, monkeypatch):
    batches = data.TFRecordDataset(file_of(tmp_path, RECORDS)).batch(50)
    wrong = [np.zeros(50, np.int64)]
    monkeypatch.setattr(BatchProgram, "__call__", lambda self, batches: [wrong] * len(batches))
    numbers = list(batches.map(lambda records: data.parse_example(records, FEATURES)["n"]))
    np.testing.assert_array_equal(np.concatenate(numbers), np.arange(300))


def test_batches_of_another_source_stop_where_it_fails():
    def contents():
        yield from RECORDS[:100]
        raise OSError("gone")

    records = data.Dataset.from_generator(contents, output_signature=data.TensorSpec((), object))
    iterator = iter(records.batch(10).map(ONLY_PARSE[1]))
    assert [len(next(iterator)) for _ in range(10)] == [10] * 10
    with pytest.raises(OSError, match="gone"):
        next(iterator)


def test_results_may_be_written_to(tmp_path):
    batches = data.TFRecordDataset(file_of(tmp_path, RECORDS)).batch(50)
    numbers = []
    for parsed in batches.map(ONLY_PARSE[0]):
        numbers.extend(parsed["n"].tolist())
        for leaf in jax.tree.leaves(parsed):
            leaf[:] = leaf[:1]
    assert numbers == list(range(300))


def test_blocks_of_batches_are_stacked(tmp_path, monkeypatch):
    monkeypatch.setattr(_grouped_cursor, "_ENOUGH_RECORDS", 100)
    batches = data.TFRecordDataset(file_of(tmp_path, RECORDS)).batch(50)
    iterator = iter(batches.map(lambda records: data.parse_example(records, FEATURES)["n"]))
    block, count = iterator.next_block(4)
    assert count == 4
    np.testing.assert_array_equal(block, np.arange(200).reshape(4, 50))
    assert [len(numbers) for numbers in iterator] == [50, 50]
