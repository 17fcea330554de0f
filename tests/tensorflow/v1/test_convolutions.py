"""Functions of `tf.compat.v1.nn` with TensorFlow 1's arguments give what those of `tf.nn` give."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError

nn = tf.compat.v1.nn
IMAGE = np.sin(np.arange(48.0)).reshape(1, 4, 4, 3).astype(np.float32)
KERNEL = np.cos(np.arange(36.0)).reshape(2, 2, 3, 3).astype(np.float32)
LOGITS = np.sin(np.arange(24.0)).reshape(4, 2, 3).astype(np.float32)
LABELS = tf.SparseTensor(np.array([[0, 0], [1, 0]]), np.array([0, 1]), np.array([2, 1]))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            lambda: nn.conv1d(value=IMAGE[0], filters=KERNEL[0], stride=1, padding="SAME"),
            lambda: tf.nn.conv1d(IMAGE[0], KERNEL[0], 1, "SAME"),
        ),
        (
            lambda: nn.conv2d_transpose(IMAGE, filter=KERNEL, output_shape=[1, 8, 8, 3], strides=2),
            lambda: tf.nn.conv2d_transpose(IMAGE, KERNEL, [1, 8, 8, 3], 2),
        ),
        (
            lambda: nn.conv3d(IMAGE[None], filter=KERNEL[None], strides=[1] * 5, padding="VALID"),
            lambda: tf.nn.conv3d(IMAGE[None], KERNEL[None], 1, "VALID"),
        ),
        (
            lambda: nn.depthwise_conv2d(IMAGE, KERNEL, [1] * 4, "SAME", rate=[2, 2]),
            lambda: tf.nn.depthwise_conv2d(IMAGE, KERNEL, [1] * 4, "SAME", dilations=[2, 2]),
        ),
        (
            lambda: nn.separable_conv2d(IMAGE, KERNEL, KERNEL.reshape(1, 1, 9, 4), [1] * 4, "SAME", [1, 1]),
            lambda: tf.nn.separable_conv2d(IMAGE, KERNEL, KERNEL.reshape(1, 1, 9, 4), [1] * 4, "SAME"),
        ),
        (
            lambda: nn.weighted_cross_entropy_with_logits(targets=IMAGE, logits=IMAGE, pos_weight=2.0),
            lambda: tf.nn.weighted_cross_entropy_with_logits(IMAGE, IMAGE, 2.0),
        ),
        (lambda: nn.crelu(IMAGE, "name", 1), lambda: tf.nn.crelu(IMAGE, 1)),
        (
            lambda: nn.relu_layer(IMAGE[0, 0], KERNEL[0, 0], np.ones(3, np.float32)),
            lambda: tf.nn.relu(tf.matmul(IMAGE[0, 0], KERNEL[0, 0]) + 1),
        ),
        (
            lambda: nn.ctc_loss(LABELS, inputs=LOGITS, sequence_length=[4, 3]),
            lambda: tf.nn.ctc_loss(LABELS, LOGITS, None, [4, 3], blank_index=-1),
        ),
    ],
)
def test_older_arguments_mean_what_newer_ones_mean(older, newer):
    np.testing.assert_allclose(older(), newer(), rtol=1e-6)


def test_labels_of_a_ctc_loss_are_taken_as_they_are():
    with pytest.raises(BadArgumentError, match="collapse_repeated"):
        nn.ctc_loss(LABELS, LOGITS, [4, 3], preprocess_collapse_repeated=True)
