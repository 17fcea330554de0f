"""Examples are parsed with their label and weight."""

import pytest

import stratax.tf as tf
from stratax import errors

X = tf.feature_column.numeric_column("x")


def test_examples_are_parsed_with_label_and_weight():
    spec = tf.estimator.classifier_parse_example_spec([X], "y", label_dtype=tf.string, weight_column="w")
    assert {key: (value.shape, value.dtype.kind) for key, value in spec.items()} == {
        "x": ((1,), "f"),
        "y": ((1,), "O"),
        "w": ((1,), "f"),
    }
    spec = tf.estimator.regressor_parse_example_spec([X], "y", label_dimension=2, label_default=[1.0, 2.0])
    assert (spec["y"].shape, list(spec["y"].default_value)) == ((2,), [1.0, 2.0])
    for arguments, message in (
        (("x",), "label_key should not be used as a feature"),
        ((3,), "label_key must be a string"),
        (("y", "float32", None, 1, "x"), "weight_column should not be used as a feature"),
        (("y", "float32", None, 1, 3), "weight_column must be the name"),
    ):
        with pytest.raises(errors.BadArgumentError, match=message):
            tf.estimator.regressor_parse_example_spec([X], *arguments)
