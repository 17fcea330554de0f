"""Convolutions and losses of `tf.compat.v1.nn` whose arguments TensorFlow 2 has changed (v1 layer)."""

from typing import Any

from stratax import errors
from stratax.base.typing import TensorLike
from stratax.tensorflow.ops.arrays import sequences
from stratax.tensorflow.ops.math import linalg
from stratax.tensorflow.ops.nn import convolutions, nn, normalization
from stratax.tensorflow.v1._functions import either


def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: object = None,
    padding: object = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: object = None,
) -> Any:
    """Convolve sequences, as `tf.compat.v1.nn.conv1d`; the arguments are those of `tf.nn.conv1d`.

    `value` is the older name of `input`, and `use_cudnn_on_gpu` is ignored.
    """
    signal: Any = either("input", input, "value", value)
    kernel: Any = filters
    return convolutions.conv1d(signal, kernel, stride, padding, data_format, dilations, name=name)


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: object = None,
    padding: object = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: object = None,
) -> Any:
    """Compute the gradient of a convolution, as `tf.compat.v1.nn.conv2d_transpose`.

    The arguments are those of `tf.nn.conv2d_transpose`; `value` and `filter` are older names of `input` and `filters`.
    """
    images: Any = either("input", input, "value", value)
    kernel: Any = either("filters", filters, "filter", filter)
    given = (images, kernel, output_shape, strides, padding, data_format, dilations)
    return convolutions.conv2d_transpose(*given, name=name)


def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: object = None,
    padding: object = None,
    data_format: str = "NDHWC",
    dilations: object = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Any:
    """Convolve volumes, as `tf.compat.v1.nn.conv3d`; `filter` is the older name of `filters`."""
    kernel: Any = either("filters", filters, "filter", filter)
    return convolutions.conv3d(input, kernel, strides, padding, data_format, dilations, name=name)


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: object,
    padding: object,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: object = None,
) -> Any:
    """Convolve each channel by itself, as `tf.compat.v1.nn.depthwise_conv2d`; `rate` is an older name."""
    apart = either("dilations", dilations, "rate", rate)
    return convolutions.depthwise_conv2d(input, filter, strides, padding, data_format, apart, name=name)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: object,
    padding: object,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: object = None,
) -> Any:
    """Convolve each channel, then mix them, as `tf.compat.v1.nn.separable_conv2d`; `rate` is an older name."""
    apart = either("dilations", dilations, "rate", rate)
    given = (input, depthwise_filter, pointwise_filter, strides, padding, data_format, apart)
    return convolutions.separable_conv2d(*given, name=name)


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Any:
    """Return weighted cross entropies, as `tf.compat.v1.nn` has them; `targets` is the older name of `labels`."""
    truth: Any = either("labels", labels, "targets", targets)
    scores: Any = logits
    weight: Any = pos_weight
    return nn.weighted_cross_entropy_with_logits(truth, scores, weight, name=name)


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Any:
    """Return relu(x) and relu(-x) side by side, as `tf.compat.v1.nn.crelu`, where `name` comes before `axis`."""
    return nn.crelu(features, axis, name=name)


def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Any:
    """Return `relu(x @ weights + biases)`, as `tf.compat.v1.nn.relu_layer`."""
    return nn.relu(normalization.bias_add(linalg.matmul(x, weights), biases), name=name)


def ctc_loss(
    labels: TensorLike,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Any:
    """Return the loss of labels whose places are not known, as `tf.compat.v1.nn.ctc_loss`.

    Args:
        labels: A SparseTensor of classes.
        inputs: Logits, shape `(steps, batch, classes)`; the last class is the one for "no label".
        sequence_length: How many steps count, shape `(batch,)`.
        preprocess_collapse_repeated: Must be False.
        ctc_merge_repeated: Must be True.
        ignore_longer_outputs_than_inputs: Ignored: labels that don't fit have a large loss.
        time_major: Whether steps come before the batch.
        logits: The newer name of `inputs`.

    Raises:
        BadArgumentError: If the labels are to be treated in another way.
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise errors.BadArgumentError(
            "ctc_loss merges repeated classes of steps, not of labels. Received: "
            f"preprocess_collapse_repeated={preprocess_collapse_repeated}, ctc_merge_repeated={ctc_merge_repeated}. "
            "Leave them out, and collapse labels with tf.nn.collapse_repeated."
        )
    scores: Any = either("logits", logits, "inputs", inputs)
    lengths: Any = sequence_length
    # In TensorFlow 1 the last class is the blank one.
    return sequences.ctc_loss(labels, scores, None, lengths, time_major, blank_index=-1)
