"""`tf.type_spec_from_value`: TensorFlow 2.21's specs."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "TensorSpec(shape=(), dtype=tf.int32, name=None)"),
        (1.5, "TensorSpec(shape=(), dtype=tf.float32, name=None)"),
        ("a", "TensorSpec(shape=(), dtype=tf.string, name=None)"),
        (b"a", "TensorSpec(shape=(), dtype=tf.string, name=None)"),
        (True, "TensorSpec(shape=(), dtype=tf.bool, name=None)"),
        ([1, 2], "TensorSpec(shape=(2,), dtype=tf.int32, name=None)"),
        ((1, 2), "TensorSpec(shape=(2,), dtype=tf.int32, name=None)"),
        (np.arange(3), "TensorSpec(shape=(3,), dtype=tf.int64, name=None)"),
        (np.float64(3), "TensorSpec(shape=(), dtype=tf.float64, name=None)"),
    ],
)
def test_what_becomes_a_tensor(value, expected):
    assert repr(tf.type_spec_from_value(value)) == expected


def test_what_is_no_tensor():
    scalars = "TensorSpec(shape=(), dtype=tf.int64, name=None)"
    dataset = tf.data.Dataset.range(3)
    expected = {
        "RaggedTensorSpec(TensorShape([2, None]), tf.int32, 1, tf.int64)": tf.ragged.constant([[1], [2, 3]]),
        "SparseTensorSpec(TensorShape([1, 2]), tf.int32)": tf.sparse.from_dense([[1, 0]]),
        f"DatasetSpec({scalars}, TensorShape([]))": dataset,
        f"IteratorSpec({scalars},)": iter(dataset),
    }
    assert isinstance(tf.type_spec_from_value(tf.experimental.Optional.from_value(1)), tf.OptionalSpec)
    assert [repr(tf.type_spec_from_value(value)) for value in expected.values()] == list(expected)


@pytest.mark.parametrize("value", [{"a": 1}, object(), tf.float32, [1, "a"], [[1], [2, 3]], None, int])
def test_what_nothing_describes(value):
    with pytest.raises(errors.BadTypeError, match="Could not build a TypeSpec for .* of unsupported type"):
        tf.type_spec_from_value(value)
