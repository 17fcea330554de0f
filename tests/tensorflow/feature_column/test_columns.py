"""What columns take, what they refuse, and how their features are parsed."""

import numpy as np
import pytest

import stratax.tensorflow.feature_column as fc
import stratax.tf as tf
from stratax import errors
from stratax.data import FixedLenFeature, SparseTensor, VarLenFeature

NUMBER = fc.numeric_column("n")
WORD = fc.categorical_column_with_hash_bucket("w", 10)
LISTED = fc.categorical_column_with_vocabulary_list("w", ["a", "b"])


def _ids(column, **features):
    return fc.Transformation([column]).host_features(features)[f"{column.name}/ids"].tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fc.numeric_column(5), "key must be a string"),
        (lambda: fc.numeric_column("n", shape=(0,)), "whole numbers from 1"),
        (lambda: fc.numeric_column("n", shape=(1.5,)), "whole numbers from 1"),
        (lambda: fc.numeric_column("n", dtype=tf.string), "whole or floating-point"),
        (lambda: fc.numeric_column("n", shape=2, default_value=[1.0]), r"the column's shape, \(2,\)"),
        (lambda: fc.numeric_column("n", default_value=1.5, dtype=tf.int64), "of the column's dtype"),
        (lambda: fc.numeric_column("n", normalizer_fn=3), "must be a function"),
        (lambda: fc.bucketized_column(WORD, [1]), "must be a numeric_column"),
        (lambda: fc.bucketized_column(fc.numeric_column("n", (2, 2)), [1]), "one dimension"),
        (lambda: fc.bucketized_column(NUMBER, [2, 1]), "Sort them"),
        (lambda: fc.bucketized_column(NUMBER, [1, 1]), "Sort them"),
        (lambda: fc.bucketized_column(NUMBER, []), "Sort them"),
        (lambda: fc.categorical_column_with_hash_bucket("w", 0), "at least 1"),
        (lambda: fc.categorical_column_with_hash_bucket("w", None), "at least 1"),
        (lambda: fc.categorical_column_with_hash_bucket("w", 5, tf.float32), "tf.string or of whole numbers"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", []), "must not be empty"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", ["a", "b", "a"]), "has 'a' more than once"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", ["a"], tf.int64), "do not match"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", [1.5]), "tf.string or of whole"),
        (
            lambda: fc.categorical_column_with_vocabulary_list(
                "w", ["a"], default_value=0, num_oov_buckets=1
            ),
            "either a default or a bucket",
        ),
        (
            lambda: fc.categorical_column_with_vocabulary_list("w", ["a"], num_oov_buckets=-1),
            "not be negative",
        ),
        (lambda: fc.categorical_column_with_vocabulary_file("w", ""), "vocabulary_file is missing"),
        (lambda: fc.categorical_column_with_vocabulary_file("w", "x", 0), "one entry at least"),
        (lambda: fc.categorical_column_with_identity("w", 0), "at least 1"),
        (lambda: fc.categorical_column_with_identity("w", 3, 3), "0 to 2"),
        (lambda: fc.weighted_categorical_column(NUMBER, "v"), "must be a categorical column"),
        (lambda: fc.weighted_categorical_column(WORD, "v", tf.string), "must be of numbers"),
        (lambda: fc.crossed_column(["a"], 10), "a list of two at least"),
        (lambda: fc.crossed_column("ab", 10), "a list of two at least"),
        (lambda: fc.crossed_column(["a", "b"], 0), "at least 1"),
        (lambda: fc.crossed_column(["a", WORD], 10), "Pass the feature's name, 'w'"),
        (lambda: fc.crossed_column(["a", NUMBER], 10), "must be a categorical column"),
        (lambda: fc.embedding_column(WORD, 0), "dimension must be at least 1"),
        (lambda: fc.embedding_column(WORD, 2, combiner="max"), "'mean', 'sqrtn', 'sum'"),
        (lambda: fc.embedding_column(WORD, 2, initializer="zeros"), "must be a function"),
        (lambda: fc.embedding_column(WORD, 2, ckpt_to_load_from="x"), "go together"),
        (lambda: fc.embedding_column(NUMBER, 2), "must be a categorical column"),
        (lambda: fc.indicator_column(NUMBER), "must be a categorical column"),
        (lambda: fc.shared_embeddings([WORD, LISTED], 2), "of one kind"),
        (lambda: fc.shared_embeddings([], 2), "must not be empty"),
        (lambda: fc.input_layer({}, []), "must not be empty"),
        (lambda: fc.input_layer({}, {"n": NUMBER}), "must be a list of feature columns"),
        (lambda: fc.input_layer({}, ["n"]), "Items of feature_columns must be"),
        (
            lambda: fc.input_layer({}, [NUMBER, fc.numeric_column("n")]),
            "Two feature columns have the name 'n'",
        ),
        (lambda: fc.input_layer({}, [WORD]), "Wrap a categorical column"),
        (lambda: fc.make_parse_example_spec(["n"]), "must be feature columns"),
        (
            lambda: fc.make_parse_example_spec([NUMBER, fc.categorical_column_with_identity("n", 3)]),
            "differently",
        ),
        (lambda: fc.make_parse_example_spec([fc.weighted_categorical_column(WORD, "w")]), "Give the weights"),
    ],
)
def test_what_can_not_work_is_refused_when_the_column_is_made(make, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        make()


@pytest.mark.parametrize(
    ("column", "features", "message"),
    [
        (NUMBER, {"m": np.ones(2)}, r"'n' is not in the features dictionary.*Received: \['m'\]"),
        (fc.indicator_column(WORD), {}, "'w' is not in the features"),
        (NUMBER, {"n": np.array([b"a"], object)}, "dense array of numbers"),
        (
            NUMBER,
            {"n": SparseTensor(np.array([[0, 0]]), np.ones(1), np.array([1, 1]))},
            "dense array of numbers",
        ),
        (NUMBER, {"n": np.float32(1)}, "no dimension for the batch"),
        (fc.indicator_column(WORD), {"w": np.array(b"a", object)}, "no dimension for the batch"),
        (NUMBER, {"n": np.ones((2, 3))}, r"Expected: \(batch, 1\). Received: \(2, 3\)"),
        (fc.indicator_column(WORD), {"w": np.array([1, 2])}, "Expected: strings. Received: int64"),
        (
            fc.indicator_column(fc.categorical_column_with_identity("w", 5)),
            {"w": np.array([1.0])},
            "Expected: whole numbers",
        ),
        (
            fc.indicator_column(fc.categorical_column_with_identity("w", 5)),
            {"w": np.array([1, 5])},
            "Expected: 0 to 4. Received: 5",
        ),
        (
            fc.indicator_column(fc.categorical_column_with_hash_bucket("w", 2**31)),
            {"w": np.array([b"a"], object)},
            "more ids than 32 bits",
        ),
        (
            fc.indicator_column(fc.weighted_categorical_column(WORD, "v")),
            {"w": np.array([b"a", b""], object), "v": np.array([1.0, 1.0], np.float32)},
            "a weight for each value.*differ in example 1",
        ),
        (
            fc.indicator_column(fc.weighted_categorical_column(WORD, "v")),
            {"w": np.array([b"a"], object), "v": np.array([1])},
            "Expected: floating-point numbers",
        ),
        (
            fc.indicator_column(fc.crossed_column(["w", "n"], 10)),
            {"w": np.array([b"a"], object), "n": np.array([1.5])},
            "takes strings and whole numbers",
        ),
        (
            fc.indicator_column(fc.crossed_column(["n", fc.weighted_categorical_column(LISTED, "v")], 10)),
            {"w": np.array([b"a"], object), "n": np.array([1]), "v": np.array([1.5], np.float32)},
            "takes no weights",
        ),
        (
            fc.indicator_column(fc.sequence_categorical_column_with_identity("w", 5)),
            {"w": np.array([[1, 4]])},
            "'w_indicator' is of a sequence",
        ),
    ],
)
def test_features_that_do_not_fit_are_refused(column, features, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        fc.input_layer(features, [column])


def test_batches_of_several_sizes_are_refused():
    with pytest.raises(errors.BadArgumentError, match="one number of examples.*{'m': 2, 'n': 3}"):
        fc.input_layer({"n": np.ones(3), "m": np.ones(2)}, [NUMBER, fc.numeric_column("m")])


def test_linear_model_takes_columns_only():
    class Other(fc.FeatureColumn):
        name = "other"
        parse_example_spec = None
        host_columns = ()

    with pytest.raises(errors.BadArgumentError, match="takes dense and categorical columns"):
        fc.linear_model({}, [Other()])


def test_files_of_vocabularies_that_can_not_be_right_are_refused(tmp_path):
    path = tmp_path / "words.txt"
    with pytest.raises(errors.FileMissingError, match="words.txt"):
        fc.categorical_column_with_vocabulary_file("w", str(path))
    missing = fc.categorical_column_with_vocabulary_file("w", str(path), 3)
    text = np.array([b"a"], object)
    with pytest.raises(errors.FileMissingError, match="words.txt"):
        _ids(missing, w=text)
    path.write_text("")
    with pytest.raises(errors.BadArgumentError, match="one entry at least. Received: vocabulary_size=0"):
        fc.categorical_column_with_vocabulary_file("w", str(path))
    path.write_text("a\nb\n")
    with pytest.raises(
        errors.BadArgumentError, match=r"too short. Expected: 3 lines.*Received: 2 in .*words.txt"
    ):
        _ids(missing, w=text)
    path.write_text("a\nb\na\n")
    with pytest.raises(errors.BadArgumentError, match="b'a' more than once: in lines 1 and 3"):
        _ids(missing, w=text)
    whole = fc.categorical_column_with_vocabulary_file("w", str(path), 2, tf.int64)
    with pytest.raises(errors.BadArgumentError, match="no whole number: b'a' in line 1"):
        _ids(whole, w=np.array([1]))


def test_vocabularies_of_numbers_and_of_records(tmp_path):
    path = str(tmp_path / "numbers.txt")
    with open(path, "w") as file:
        file.write("7\n-1\n30\n")
    column = fc.categorical_column_with_vocabulary_file("w", path, dtype=tf.int64, default_value=2)
    assert _ids(column, w=np.array([[30, 7], [-1, 5]])) == [[2, 0], [-1, 2]]
    records = str(tmp_path / "words.tfrecord.gz")
    with tf.io.TFRecordWriter(records, tf.io.TFRecordOptions("GZIP")) as writer:
        for word in (b"x", b"y"):
            writer.write(word)
    column = fc.categorical_column_with_vocabulary_file("w", records, num_oov_buckets=1)
    assert column.num_buckets == 3
    assert _ids(column, w=["y", "z"]) == [[1], [2]]


def test_the_arguments_of_files_stand_in_another_order_in_v1(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\n")
    column = tf.compat.v1.feature_column.categorical_column_with_vocabulary_file("w", str(path), 1, 3)
    assert (column.vocabulary_size, column.num_oov_buckets, column.default_value) == (1, 3, -1)


def test_rows_of_different_lengths_and_python_strings_are_taken():
    assert _ids(LISTED, w=[["a", "b", "c"], [], ["b"]]) == [[0, 1, -1], [-1, -1, -1], [1, -1, -1]]
    assert _ids(LISTED, w=["a", "b"]) == [[0], [1]]
    assert _ids(LISTED, w=np.array(["b", ""])) == [[1], [-1]]


def test_a_batch_without_any_value_has_no_ids():
    empty = SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, object), np.array([2, 0]))
    for column in (WORD, LISTED, fc.crossed_column(["w", "w"], 5)):
        assert _ids(column, w=empty) == [[-1], [-1]]
    weighted = fc.weighted_categorical_column(WORD, "v")
    numbers = SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), np.array([2, 0]))
    made = fc.Transformation([weighted]).host_features({"w": empty, "v": numbers})
    assert {key: value.tolist() for key, value in made.items()} == {
        "w_weighted_by_v/ids": [[-1], [-1]],
        "w_weighted_by_v/weights": [[0], [0]],
    }


def test_nan_falls_into_the_last_bucket_on_the_host_and_in_the_step():
    buckets = fc.bucketized_column(NUMBER, [0.0, 1.0])
    features = {"n": np.array([np.nan, -np.inf, np.inf], np.float32)}
    assert fc.input_layer(features, [buckets]).argmax(1).tolist() == [2, 0, 2]
    crossed = fc.crossed_column([buckets, "k"], 10**6)
    ids = _ids(crossed, **features, k=np.array([1, 1, 1]))
    assert ids[0] == ids[2] != ids[1]


def test_examples_are_parsed_as_columns_need_them():
    columns = [
        fc.numeric_column("n", shape=2, default_value=1.0),
        fc.embedding_column(fc.crossed_column(["a", fc.bucketized_column(NUMBER_M, [1])], 5), 2),
        fc.indicator_column(fc.weighted_categorical_column(WORD, "v")),
        fc.indicator_column(fc.categorical_column_with_identity("i", 3)),
    ]
    spec = fc.make_parse_example_spec(columns)
    assert {key: type(value) for key, value in spec.items()} == {
        "n": FixedLenFeature,
        "a": VarLenFeature,
        "m": FixedLenFeature,
        "w": VarLenFeature,
        "v": VarLenFeature,
        "i": VarLenFeature,
    }
    assert (spec["n"].shape, spec["n"].default_value) == ((2,), (1.0, 1.0))
    assert [spec[key].dtype for key in "aviw"] == [object, np.float32, np.int64, object]
    feature = tf.train.Feature
    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "a": feature(bytes_list=tf.train.BytesList(value=[b"x"])),
                "m": feature(float_list=tf.train.FloatList(value=[3.0])),
                "w": feature(bytes_list=tf.train.BytesList(value=[b"x", b"y"])),
                "v": feature(float_list=tf.train.FloatList(value=[0.5, 2.0])),
                "i": feature(int64_list=tf.train.Int64List(value=[1])),
            }
        )
    ).SerializeToString()
    parsed = tf.io.parse_example(np.array([example], object), spec)
    made = fc.input_layer(parsed, [columns[0], *columns[2:]])
    assert float(made.sum()) == 1 + 1 + 1 + 2.5


NUMBER_M = fc.numeric_column("m")


def test_columns_are_values_that_can_be_compared_and_shown():
    assert fc.numeric_column("n") == NUMBER
    assert len({NUMBER, fc.numeric_column("n"), WORD}) == 2
    assert "hash_bucket_size=10" in repr(WORD)
