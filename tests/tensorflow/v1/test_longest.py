"""The longest sequence of a batch that is padded to it, and metrics of a program's own of confusions."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.v1 import metrics
from tests.tensorflow.v1.steps import Step

X = np.ones((2, 3), np.float32)


def masks(x, lengths):
    def body(scope, x, lengths):
        scope.names.give_inputs([x, lengths])
        return tf.sequence_mask(lengths)

    return Step(body)(x, np.array(lengths, np.int32))


def test_a_mask_is_as_long_as_padded_features():
    assert masks(X, [3, 1]).tolist() == [[True] * 3, [True, False, False]]
    with pytest.raises(errors.BadArgumentError, match="longest sequence is 3, to which it is padded"):
        masks(X, [2, 1])


def test_parts_of_examples_have_lengths_too():
    x, lengths = np.ones((2, 2, 3), np.float32), [[3, 1], [0, 2]]
    assert masks(x, lengths).sum(-1).tolist() == lengths


def test_a_mask_of_anything_else_needs_its_length():
    def of_two_sizes(scope, x, y, lengths):
        scope.names.give_inputs([x, y, lengths])
        return tf.sequence_mask(lengths)

    with pytest.raises(errors.BadTypeError, match="Pass maxlen"):
        Step(of_two_sizes)(X, np.ones((2, 4), np.float32), np.array([1, 2]))
    with pytest.raises(errors.BadTypeError, match="Pass maxlen"):
        masks(X, [1, 2, 3])


def test_a_metric_of_ones_own_is_computed_of_confusions():
    def body(scope, labels, predictions):
        value, update = metrics.streaming_confusion_matrix(labels, predictions, 3, np.array([1, 1, 1, 2.0]))
        assert value.shape == update.shape == (3, 3)
        return tf.reduce_sum(tf.convert_to_tensor(update) * np.eye(3, dtype=np.float32)), update * 1.0

    right, counts = Step(body, mode="eval")(np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1]))
    assert float(right) == 2
    assert counts.tolist() == [[1, 0, 0], [0, 0, 1], [0, 2, 1]]
