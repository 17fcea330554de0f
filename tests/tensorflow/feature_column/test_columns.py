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
