"""Rows within Examples; all values are TensorFlow 2.21's."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, DataError

RaggedFeature = tf.io.RaggedFeature


def example(**features):
    made = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        for name, values in features.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


EXAMPLES = [
    example(v=[1, 2, 3, 4, 5, 6], s=[0, 2, 6], l=[2, 4], st=[0, 2], li=[2, 6], r=[0, 0, 1, 1, 1, 1]),
    example(v=[7, 8], s=[0, 0, 2], l=[0, 2], st=[0, 0], li=[0, 2], r=[1, 1]),
    example(v=[], s=[0], l=[], st=[], li=[], r=[]),
]
ROWS = [[[1, 2], [3, 4, 5, 6]], [[], [7, 8]], []]
TWO_LEVELS = [
    example(v=[1, 2, 3, 4, 5, 6], l=[2, 4], h=[2, 1], o=[1, 1]),
    example(v=[7, 8], l=[0, 2], h=[1], o=[2, 0, 0]),
]


def parsed(records, *partitions, **options):
    feature = RaggedFeature(tf.int64, value_key="v", partitions=list(partitions), **options)
    parse = tf.io.parse_single_example if isinstance(records, bytes) else tf.io.parse_example
    return parse(records, {"x": feature})["x"]


@pytest.mark.parametrize(
    "partition",
    [
        RaggedFeature.RowSplits("s"),
        RaggedFeature.RowLengths("l"),
        RaggedFeature.RowStarts("st"),
        RaggedFeature.RowLimits("li"),
        RaggedFeature.ValueRowIds("r"),
    ],
    ids=lambda partition: type(partition).__name__,
)
def test_a_partition_divides_the_values_of_each_example(partition):
    found = parsed(EXAMPLES, partition)
    assert (found.to_list(), tuple(found.shape)) == (ROWS, (3, None, None))
    assert [parsed(each, partition).to_list() for each in EXAMPLES] == ROWS


def test_innermost_rows_of_one_length_are_a_dimension_of_the_array():
    two = RaggedFeature.UniformRowLength(2)
    found = parsed(EXAMPLES, two)
    assert found.to_list() == [[[1, 2], [3, 4], [5, 6]], [[7, 8]], []]
    assert tuple(found.shape) == (3, None, 2)
    assert parsed(EXAMPLES[0], two).tolist() == [[1, 2], [3, 4], [5, 6]]
    found = parsed(TWO_LEVELS, RaggedFeature.RowLengths("h"), two)
    assert found.to_list() == [[[[1, 2], [3, 4]], [[5, 6]]], [[[7, 8]]]]
    assert tuple(found.shape) == (2, None, None, 2)


def test_partitions_stand_outermost_first():
    lengths = RaggedFeature.RowLengths("l")
    found = parsed(TWO_LEVELS, RaggedFeature.RowLengths("o"), lengths)
    assert found.to_list() == [[[[1, 2]], [[3, 4, 5, 6]]], [[[], [7, 8]], [], []]]
    assert parsed(TWO_LEVELS[0], RaggedFeature.RowLengths("o"), lengths).to_list() == [
        [[1, 2]],
        [[3, 4, 5, 6]],
    ]
    found = parsed(TWO_LEVELS, RaggedFeature.UniformRowLength(1), lengths)
    assert found.to_list() == [[[[1, 2]], [[3, 4, 5, 6]]], [[[]], [[7, 8]]]]
    assert tuple(found.shape) == (2, None, 1, None)


def test_where_rows_begin_has_the_dtype_that_is_asked_for():
    assert parsed(EXAMPLES, RaggedFeature.RowLengths("l")).row_splits.dtype == np.int32
    found = parsed(EXAMPLES, RaggedFeature.RowLengths("l"), row_splits_dtype=tf.int64)
    assert {splits.dtype for splits in found.nested_row_splits} == {np.dtype(np.int64)}


def test_a_pipeline_parses_rows_of_batches():
    features = {"v": RaggedFeature(tf.int64, partitions=[RaggedFeature.RowLengths("l")])}
    made = (
        tf.data.Dataset.from_tensor_slices(EXAMPLES).batch(2).map(lambda x: tf.io.parse_example(x, features))
    )
    assert [batch["v"].to_list() for batch in made] == [ROWS[:2], ROWS[2:]]


@pytest.mark.parametrize(
    "partition",
    [RaggedFeature.RowLengths("h"), RaggedFeature.RowSplits("none"), RaggedFeature.ValueRowIds("h")],
    ids=str,
)
def test_a_partition_that_does_not_fit_is_an_error(partition):
    with pytest.raises(DataError, match="does not fit its values.* in Example 0"):
        parsed(TWO_LEVELS, partition)


def test_partitions_are_checked_when_the_feature_is_made():
    with pytest.raises(BadArgumentError, match="partitions of a RaggedFeature are a list"):
        RaggedFeature(tf.int64, partitions=["l"])


def sequence(context, lists):
    def feature(values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    return tf.train.SequenceExample(
        context=tf.train.Features(feature={name: feature(values) for name, values in context.items()}),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                name: tf.train.FeatureList(feature=[feature(step) for step in steps])
                for name, steps in lists.items()
            }
        ),
    ).SerializeToString()


SEQUENCES = [
    sequence({"c": [1, 2, 3], "cl": [1, 2]}, {"v": [[1, 2, 3], [], [4]], "l": [[1, 2], [], [1]]}),
    sequence({"c": [], "cl": []}, {"v": [[5, 6]], "l": [[2, 0]]}),
    sequence({"c": [9], "cl": [1]}, {}),
]


def test_contexts_and_steps_of_sequences_have_rows():
    context = {"x": RaggedFeature(tf.int64, value_key="c")}
    steps = {"x": RaggedFeature(tf.int64, value_key="v")}
    found = tf.io.parse_sequence_example(SEQUENCES, context, steps)
    assert found[0]["x"].to_list() == [[1, 2, 3], [], [9]]
    assert found[1]["x"].to_list() == [[[1, 2, 3], [], [4]], [[5, 6]], []]
    assert found[2] == {}


def test_partitions_divide_contexts_and_each_step():
    context = {"x": RaggedFeature(tf.int64, "c", [RaggedFeature.RowLengths("cl")])}
    steps = {"x": RaggedFeature(tf.int64, "v", [RaggedFeature.RowLengths("l")])}
    rows = [[[1], [2, 3]], [], [[9]]]
    rows_of_steps = [[[[1], [2, 3]], [], [[4]]], [[[5, 6], []]], []]
    found = tf.io.parse_sequence_example(SEQUENCES, context, steps)
    assert (found[0]["x"].to_list(), found[1]["x"].to_list()) == (rows, rows_of_steps)
    for record, row, row_of_steps in zip(SEQUENCES, rows, rows_of_steps, strict=True):
        single = tf.io.parse_single_sequence_example(record, context, steps)
        assert (single[0]["x"].to_list(), single[1]["x"].to_list()) == (row, row_of_steps)
    ones = {"x": RaggedFeature(tf.int64, "v", [RaggedFeature.UniformRowLength(1)])}
    found = tf.io.parse_sequence_example(SEQUENCES[:2], {}, ones)[1]["x"]
    assert found.to_list() == [[[[1], [2], [3]], [], [[4]]], [[[5], [6]]]]
    assert tuple(found.shape) == (2, None, None, 1)


def test_partitions_of_steps_have_as_many_steps_as_the_values():
    steps = {"x": RaggedFeature(tf.int64, "v", [RaggedFeature.RowLengths("l")])}
    record = sequence({}, {"v": [[1], [2]], "l": [[1]]})
    with pytest.raises(DataError, match="have as many steps"):
        tf.io.parse_sequence_example([record], {}, steps)
