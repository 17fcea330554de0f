"""Parsing of Examples: what each kind of feature becomes, and what is said where it can't be."""

import numpy as np
import pytest

from stratax.data import (
    BytesList,
    Dataset,
    Example,
    Feature,
    Features,
    FixedLenFeature,
    FixedLenSequenceFeature,
    FloatList,
    Int64List,
    RaggedFeature,
    SparseFeature,
    SparseTensor,
    SparseTensorSpec,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from stratax.data.elements import TextScalar
from stratax.errors import BadArgumentError, BadTypeError, DataError, DataLossError


def int64(*values):
    return Feature(int64_list=Int64List(value=values))


def floats(*values):
    return Feature(float_list=FloatList(value=values))


def strings(*values):
    return Feature(bytes_list=BytesList(value=values))


def record(**features):
    return Example(features=Features(feature=features)).SerializeToString()


def records_of(path):
    """The records of a TFRecord file; checksums are not looked at."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        found.append(data[at + 12 : at + 12 + size])
        at += size + 16
    return found


@pytest.fixture(scope="module")
def golden_records(shared_tfrecords):
    return records_of(shared_tfrecords / "plain.tfrecord")[:100]


@pytest.fixture(scope="module")
def shared_tfrecords(request):
    return request.getfixturevalue("shared") / "golden" / "tfrecord"


GOLDEN_FEATURES = {
    "image/encoded": FixedLenFeature([], "string"),
    "image/class/label": FixedLenFeature([], "int64"),
    "weights": FixedLenFeature([2, 2], "float32"),
    "name": FixedLenFeature([], "string", default_value=b"none"),
    "ids": FixedLenSequenceFeature([], "int64", allow_missing=True),
}


@pytest.mark.parametrize("single", [False, True])
def test_what_tensorflow_wrote_is_parsed_as_tensorflow_parses_it(shared_tfrecords, golden_records, single):
    if single:
        one_by_one = [parse_single_example(data, GOLDEN_FEATURES) for data in golden_records]
        longest = max(len(parsed["ids"]) for parsed in one_by_one)
        for parsed in one_by_one:
            parsed["ids"] = np.pad(parsed["ids"], (0, longest - len(parsed["ids"])))
        parsed = {key: np.array([parsed[key] for parsed in one_by_one]) for key in GOLDEN_FEATURES}
    else:
        parsed = parse_example(golden_records, GOLDEN_FEATURES)
    with np.load(shared_tfrecords / "parsed.npz") as golden:
        np.testing.assert_array_equal(parsed["image/class/label"], golden["label"])
        np.testing.assert_array_equal(parsed["weights"], golden["weights"])
        np.testing.assert_array_equal(parsed["ids"], golden["ids"])
        assert [name.decode() for name in parsed["name"]] == golden["name"].tolist()
        assert [len(encoded) for encoded in parsed["image/encoded"]] == golden["encoded_len"].tolist()


def test_a_sequence_is_padded_to_the_longest_of_the_batch():
    batch = [record(a=int64(1, 2, 3, 4)), record(), record(a=int64(5, 6))]
    parsed = parse_example(
        batch, {"a": FixedLenSequenceFeature([2], "int64", allow_missing=True, default_value=-1)}
    )
    np.testing.assert_array_equal(parsed["a"], [[[1, 2], [3, 4]], [[-1, -1], [-1, -1]], [[5, 6], [-1, -1]]])


def test_a_sequence_of_strings_is_padded_with_empty_ones():
    parsed = parse_example(
        [record(a=strings(b"1", b"2")), record()],
        {"a": FixedLenSequenceFeature([], "string", allow_missing=True)},
    )
    assert parsed["a"].tolist() == [[b"1", b"2"], [b"", b""]]
    assert parsed["a"].dtype == object


def test_any_number_of_values_is_a_sparse_tensor():
    parsed = parse_example(
        [record(a=int64(1, 2, 3)), record(), record(a=int64(4))], {"a": VarLenFeature("int64")}
    )
    assert isinstance(parsed["a"], SparseTensor)
    np.testing.assert_array_equal(parsed["a"].indices, [[0, 0], [0, 1], [0, 2], [2, 0]])
    np.testing.assert_array_equal(parsed["a"].values, [1, 2, 3, 4])
    np.testing.assert_array_equal(parsed["a"].dense_shape, [3, 3])


def test_a_missing_feature_gets_its_default():
    features = {"a": FixedLenFeature([2], "float32", default_value=[1.0, 2.0])}
    np.testing.assert_array_equal(
        parse_example([record(a=floats(3, 4)), record(), record(a=Feature())], features)["a"],
        [[3, 4], [1, 2], [1, 2]],
    )
    np.testing.assert_array_equal(parse_single_example(record(), features)["a"], [1, 2])


def test_a_single_example_gives_scalars_and_bytes():
    parsed = parse_single_example(
        record(n=int64(7), x=floats(0.5), s=strings(b"ab\0")),
        {
            "n": FixedLenFeature([], "int64"),
            "x": FixedLenFeature([], "float32"),
            "s": FixedLenFeature([], "string"),
        },
    )
    assert parsed == {"n": 7, "x": 0.5, "s": b"ab\0"}
    assert [parsed[key].dtype for key in "nx"] == [np.int64, np.float32]
    assert [np.shape(value) for value in parsed.values()] == [()] * 3
    assert isinstance(parsed["s"], bytes)


def test_a_single_examples_sequences():
    parsed = parse_single_example(
        record(a=int64(1, 2, 3, 4)),
        {
            "a": FixedLenSequenceFeature([2], "int64", allow_missing=True),
            "b": FixedLenSequenceFeature([2], "int64", allow_missing=True, default_value=5),
            "c": VarLenFeature("string"),
        },
    )
    np.testing.assert_array_equal(parsed["a"], [[1, 2], [3, 4]])
    assert parsed["b"].shape == (0, 2)
    assert parsed["c"].indices.shape == (0, 1)
    assert parsed["c"].values.dtype == object


def test_the_same_name_twice_means_the_last():
    twice = record(a=floats(1)) + record(a=int64(2))
    assert parse_example([twice], {"a": FixedLenFeature([], "int64")})["a"] == [2]


def test_an_empty_batch_has_arrays_without_rows():
    parsed = parse_example(
        np.array([], object),
        {
            "a": FixedLenFeature([2], "int64"),
            "b": FixedLenSequenceFeature([3], "float32", allow_missing=True),
            "c": VarLenFeature("string"),
        },
    )
    assert parsed["a"].shape == (0, 2)
    assert parsed["b"].shape == (0, 0, 3)
    np.testing.assert_array_equal(parsed["c"].dense_shape, [0, 0])


def test_one_record_is_no_batch():
    assert parse_example(record(a=int64(3)), {"a": FixedLenFeature([], "int64")}) == {"a": 3}
    assert parse_example(np.array(record(a=int64(3)), object), {"a": FixedLenFeature([], "int64")}) == {
        "a": 3
    }


def test_values_may_be_written_to():
    parsed = parse_example([record(a=floats(1, 2))] * 30, {"a": FixedLenFeature([2], "float32")})["a"]
    parsed -= 1
    np.testing.assert_array_equal(parsed, [[0, 1]] * 30)


def test_a_default_is_not_changed_through_a_result():
    features = {"a": FixedLenFeature([2], "int64", default_value=[1, 2])}
    parse_single_example(record(), features)["a"][:] = 0
    np.testing.assert_array_equal(parse_single_example(record(), features)["a"], [1, 2])


@pytest.mark.parametrize("size", [3, 100])
def test_an_error_names_the_feature_the_example_what_was_expected_and_what_was_received(size):
    good = [record(a=int64(1))] * (size - 1)
    features = {"a": FixedLenFeature([], "int64")}
    with pytest.raises(
        DataError, match=rf"Feature 'a' of Example {size - 1} of the batch is required but missing.*Fixed"
    ):
        parse_example([*good, record()], features)
    with pytest.raises(
        DataError, match=rf"'a' of Example {size - 1} .*dtype.*Expected: values of int64.*2 .*of float32"
    ):
        parse_example([*good, record(a=floats(1, 2))], features)
    with pytest.raises(DataError, match=rf"'a' of Example {size - 1} .*Expected: 1 value.*Received: 2 value"):
        parse_example([*good, record(a=int64(1, 2))], features)
    with pytest.raises(DataError, match=rf"'a' of Example {size - 1} .*Expected: 1 value.*Received: 0 value"):
        parse_example([*good, record(a=int64())], features)
    with pytest.raises(
        DataError, match=rf"Record {size - 1} of the batch is not a serialized Example.*9 bytes"
    ):
        parse_example([*good, b"not proto"], features)


def test_an_error_of_a_single_example():
    features = {"a": FixedLenFeature([], "int64")}
    with pytest.raises(DataError, match="Feature 'a' of the Example is required but missing"):
        parse_single_example(record(), features)
    with pytest.raises(DataError, match=r"'a' of the Example .named 'first'. has another number of values"):
        parse_single_example(record(a=int64(1, 2)), features, "first")
    with pytest.raises(DataError, match="The record is not a serialized Example") as caught:
        parse_single_example(b"not proto", features)
    # TensorFlow's is an InvalidArgumentError, which `except DataLossError` (a damaged file) does not catch.
    assert not isinstance(caught.value, DataLossError)


@pytest.mark.parametrize("is_indexable", [True, False])
def test_the_spec_of_values_of_any_number_leaves_their_number_open(is_indexable):
    records = Dataset.from_tensor_slices([record(a=int64(1, 2)), record(a=int64(3)), record(a=int64(4, 5))])
    source = records if is_indexable else records.filter(lambda _: True)
    features = {"a": VarLenFeature("int64")}
    one = source.map(lambda text: parse_single_example(text, features))
    assert one.element_spec == {"a": SparseTensorSpec([None], "int64")}
    assert one.batch(2, drop_remainder=True).element_spec == {"a": SparseTensorSpec([2, None], "int64")}
    many = source.batch(3, drop_remainder=True).map(lambda texts: parse_example(texts, features))
    assert many.element_spec == {"a": SparseTensorSpec([3, None], "int64")}


def test_names_of_examples_stand_in_messages():
    with pytest.raises(DataError, match="Example 1 of the batch .named 'second'."):
        parse_example(
            [record(a=int64(1)), record()], {"a": FixedLenFeature([], "int64")}, ["first", "second"]
        )


def test_names_of_examples_are_a_list_or_an_array():
    features = {"a": FixedLenFeature([], "int64")}
    with pytest.raises(DataError, match="Example 1 of the batch .named 'b'."):
        parse_example([record(a=int64(1)), record()], features, np.array(["a", "b"]))
    for names in (3, "ab"):
        with pytest.raises(BadTypeError, match=f"a name for each Example. Received: example_names={names!r}"):
            parse_example([record(a=int64(1))], features, names)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3, True, np.float32(0.1), 1e38])
def test_a_default_may_be_any_float(value):
    parsed = parse_single_example(record(), {"a": FixedLenFeature([], "float32", value)})
    np.testing.assert_array_equal(parsed["a"], np.float32(value))


def test_a_default_of_numpys_strings_is_bytes():
    parsed = parse_single_example(record(), {"a": FixedLenFeature([], "string", np.bytes_(b"a"))})
    assert type(parsed["a"]) in (bytes, TextScalar)


def test_a_sequence_that_does_not_divide_is_an_error():
    features = {"a": FixedLenSequenceFeature([2], "int64", allow_missing=True)}
    with pytest.raises(DataError, match="'a' of Example 1 .*does not divide.*multiple of 2 .*Received: 3"):
        parse_example([record(a=int64(1, 2)), record(a=int64(1, 2, 3))], features)
    with pytest.raises(DataError, match="'a' of the Example does not divide"):
        parse_single_example(record(a=int64(1)), features)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda: FixedLenFeature([None], "int64"),
            "sizes of a feature's shape are all known.*FixedLenSequenceFeature",
        ),
        (
            lambda: FixedLenSequenceFeature([None], "int64"),
            "sizes of a feature's shape are all known.*not part of it",
        ),
        (
            lambda: FixedLenFeature([], "int32"),
            "Features hold int64, float32 or byte strings. Received: dtype='int32'",
        ),
        (
            lambda: FixedLenFeature([2], "int64", 3),
            "as many values as the feature's shape. Expected: 2.*default_value=3",
        ),
        (lambda: FixedLenSequenceFeature([2], "int64", True, [1, 2]), "as many values as.* Expected: 1 "),
    ],
)
def test_a_feature_that_can_not_be_is_refused(make, match):
    with pytest.raises(BadArgumentError, match=match):
        make()


@pytest.mark.parametrize(
    ("dtype", "default", "match"),
    [
        ("int64", 3.5, "dtype of its feature. Expected: int64"),
        ("int64", 1 << 63, "dtype of its feature. Expected: int64.*within its range"),
        ("int64", 1 << 64, "dtype of its feature. Expected: int64.*within its range"),
        ("float32", 1e39, "dtype of its feature. Expected: float32.*within its range"),
        ("float32", "a", "dtype of its feature. Expected: float32"),
        ("string", 3, "made of byte strings. Received"),
    ],
)
def test_a_default_of_another_dtype_is_refused(dtype, default, match):
    with pytest.raises(BadTypeError, match=match):
        FixedLenFeature([], dtype, default)


@pytest.mark.parametrize("dtype", ["string", bytes, str, object, "S", np.dtype(object)])
def test_strings_have_many_names(dtype):
    assert FixedLenFeature([], dtype, "ä").dtype == object


@pytest.mark.parametrize("parse", [parse_example, parse_single_example])
def test_features_have_to_be_features(parse):
    data = record(a=int64(1))
    with pytest.raises(BadTypeError, match="features is a dict of .*Received: features=None"):
        parse(data, None)
    with pytest.raises(BadTypeError, match=r"Received: features\['a'\]='int64'"):
        parse(data, {"a": "int64"})
    with pytest.raises(BadArgumentError, match="at least one feature"):
        parse(data, {})
    with pytest.raises(BadArgumentError, match="needs allow_missing=True"):
        parse(data, {"a": FixedLenSequenceFeature([], "int64")})


def test_records_have_to_be_bytes():
    features = {"a": FixedLenFeature([], "int64")}
    with pytest.raises(BadTypeError, match="is one `bytes`.*type list.*Use parse_example"):
        parse_single_example([record(a=int64(1))], features)
    with pytest.raises(BadTypeError, match="is one `bytes`.*type bytes_"):
        parse_single_example(np.array(record(a=int64(1)))[()], features)
    with pytest.raises(BadTypeError, match="made of `bytes`.*'text' of type str"):
        parse_example([record(a=int64(1)), "text"], features)
    with pytest.raises(BadTypeError, match=r"1-D array of dtype object.*dtype \|S"):
        parse_example(np.array([record(a=int64(1))]), features)
    with pytest.raises(BadTypeError, match="is one `bytes`.*type int"):
        parse_example(3, features)


@pytest.mark.parametrize(
    "make",
    [
        lambda size: FixedLenFeature((size,), np.float32, [0.5] * size),
        lambda size: FixedLenFeature([size], np.float32, np.zeros(size)),
        lambda size: FixedLenSequenceFeature([size], np.int64),
        lambda size: VarLenFeature(np.int64 if size == 1 else np.float32),
        lambda size: RaggedFeature(np.int64, f"key{size}"),
        lambda size: SparseFeature("a", "b", np.int64, size),
    ],
)
def test_features_are_equal_that_say_the_same(make):
    assert make(1) == make(1)
    assert hash(make(1)) == hash(make(1))
    assert make(1) != make(2)
    assert make(1) != VarLenFeature(np.dtype(object))
