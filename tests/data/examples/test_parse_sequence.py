"""Parsing of SequenceExamples."""

import numpy as np
import pytest

from stratax.data import (
    FeatureList,
    FeatureLists,
    Features,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SequenceExample,
    VarLenFeature,
    parse_sequence_example,
    parse_single_sequence_example,
)
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.examples.test_parse import floats, int64, records_of, strings


def record(context, lists):
    return SequenceExample(
        context=Features(feature=context),
        feature_lists=FeatureLists(
            feature_list={key: FeatureList(feature=steps) for key, steps in lists.items()}
        ),
    ).SerializeToString()


LISTS = {"x": FixedLenSequenceFeature([2], "int64"), "v": VarLenFeature("string")}
CONTEXT = {"c": FixedLenFeature([], "int64"), "d": VarLenFeature("int64")}
FIRST = record(
    {"c": int64(1)}, {"x": [int64(1, 2), int64(3, 4)], "v": [strings(b"q"), strings(), strings(b"1", b"2")]}
)
SECOND = record({"c": int64(2), "d": int64(7)}, {"x": [int64(5, 6)], "v": []})


def test_one_record():
    context, lists = parse_single_sequence_example(FIRST, CONTEXT, LISTS)
    assert context["c"] == 1
    assert context["d"].shape == (0,)
    np.testing.assert_array_equal(lists["x"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(lists["v"].indices, [[0, 0], [2, 0], [2, 1]])
    assert lists["v"].values.tolist() == [b"q", b"1", b"2"]
    assert lists["v"].shape == (3, 2)


def test_a_batch_is_padded_and_says_how_long_each_was():
    context, lists, lengths = parse_sequence_example([FIRST, SECOND], CONTEXT, LISTS)
    np.testing.assert_array_equal(context["c"], [1, 2])
    np.testing.assert_array_equal(context["d"].indices, [[1, 0]])
    np.testing.assert_array_equal(lists["x"], [[[1, 2], [3, 4]], [[5, 6], [0, 0]]])
    np.testing.assert_array_equal(lists["v"].indices, [[0, 0, 0], [0, 2, 0], [0, 2, 1]])
    assert lists["v"].shape == (2, 3, 2)
    assert set(lengths) == {"x"}
    np.testing.assert_array_equal(lengths["x"], [2, 1])


def test_a_missing_list_is_empty_where_it_may_be():
    features = {"x": FixedLenSequenceFeature([2], "int64", allow_missing=True), "v": VarLenFeature("int64")}
    _, lists = parse_single_sequence_example(record({}, {}), sequence_features=features)
    assert lists["x"].shape == (0, 2)
    assert lists["v"].shape == (0, 0)
    _, lists, lengths = parse_sequence_example(
        [record({}, {}), record({}, {"x": [int64(1, 2)]})], None, features
    )
    np.testing.assert_array_equal(lists["x"], [[[0, 0]], [[1, 2]]])
    np.testing.assert_array_equal(lengths["x"], [0, 1])


def test_a_step_without_values_is_empty_in_a_sparse_tensor():
    _, lists = parse_single_sequence_example(
        record({}, {"v": [int64(1, 2), type(int64())()]}), None, {"v": VarLenFeature("int64")}
    )
    assert lists["v"].shape == (2, 2)


def test_what_tensorflow_wrote_is_read(shared):
    records = records_of(shared / "golden" / "tfrecord" / "sequence.tfrecord")
    context, lists, lengths = parse_sequence_example(
        records, {"len": FixedLenFeature([], "int64")}, {"tokens": FixedLenSequenceFeature([2], "int64")}
    )
    assert context["len"].tolist() == lengths["tokens"].tolist() == [0, 1, 2, 3, 4]
    for length, tokens in enumerate(lists["tokens"]):
        expected = [[step, step * step] if step < length else [0, 0] for step in range(4)]
        assert tokens.tolist() == expected


@pytest.mark.parametrize(
    "parse", [parse_single_sequence_example, lambda data, *args: parse_sequence_example([data], *args)]
)
def test_what_is_wrong_is_named(parse):
    with pytest.raises(
        DataError, match="Feature 'x' of .* is required but missing. Expected: a feature list"
    ):
        parse(record({}, {}), None, LISTS)
    with pytest.raises(DataError, match="'x' of .* in step 1 .*Expected: 2 value.*Received: 1 value"):
        parse(record({}, {"x": [int64(1, 2), int64(1)]}), None, LISTS)
    with pytest.raises(DataError, match="'x' of .* in step 0 .*Received: values of no kind"):
        parse(record({}, {"x": [type(int64())()]}), None, LISTS)
    with pytest.raises(DataError, match="'v' of .* has another dtype"):
        parse(record({}, {"v": [floats(1)]}), None, {"v": VarLenFeature("int64")})
    with pytest.raises(DataError, match="Feature 'c' of .* is required but missing"):
        parse(record({}, {}), CONTEXT, None)
    with pytest.raises(DataError, match="ecord.* is not a serialized SequenceExample"):
        parse(b"not proto", CONTEXT, None)
    with pytest.raises(BadArgumentError, match="at least one feature"):
        parse(FIRST, None, {})
    with pytest.raises(BadArgumentError, match=r"sequence_features\['x'\]=FixedLenFeature.*Use one of those"):
        parse(FIRST, None, {"x": FixedLenFeature([2], "int64")})
    with pytest.raises(BadArgumentError, match=r"context_features\['c'\]=FixedLenSequenceFeature"):
        parse(FIRST, {"c": FixedLenSequenceFeature([], "int64", True)}, None)
    with pytest.raises(BadArgumentError, match="has no default"):
        parse(FIRST, None, {"x": FixedLenSequenceFeature([2], "int64", True, 7)})
    with pytest.raises(BadTypeError, match="Received: context_features=3"):
        parse(FIRST, 3, None)
    with pytest.raises(BadTypeError, match=r"Received: sequence_features\['x'\]='int64'"):
        parse(FIRST, None, {"x": "int64"})
