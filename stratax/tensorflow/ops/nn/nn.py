"""Losses and non-linearities (ops layer). All compute on a device."""

import math
from typing import Any

import jax
import numpy as np
from keras import random

from stratax.base.indices import check_labels
from stratax.base.refusals import raises_named
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, PyTree, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._keras_ops import ops
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.logits import remember_in_graph
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.random._seeds import source_of


@op
def softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, axis: int = -1) -> Any:
    """Return the cross entropy of every example, as `tf.nn.softmax_cross_entropy_with_logits`.

    Args:
        labels: Probabilities, shape `(..., classes)`. Gradients pass through them too.
        logits: Unscaled logarithms of probabilities, of the same shape.
        axis: The dimension of the classes.

    Returns:
        The losses, shape `(...)`, of the logits' dtype.

    Example:
        >>> import stratax.tf as tf
        >>> tf.nn.softmax_cross_entropy_with_logits(labels=[[1.0]], logits=[[3.0]]).tolist()
        [0.0]
    """
    logits = on_device(logits)
    labels = ops.cast(labels, logits.dtype)
    # Subtracted, not negated: what is certain costs 0, as in TensorFlow, and not -0.
    return ops.sum(labels * (0.0 - ops.log_softmax(logits, axis=axis)), axis=axis)


@op
def sparse_softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike) -> Any:
    """Return the cross entropy of every example, as `tf.nn.sparse_softmax_cross_entropy_with_logits`.

    Args:
        labels: The classes' numbers, shape `(...)`.
        logits: Unscaled logarithms of probabilities, shape `(..., classes)`.

    Returns:
        The losses, shape `(...)`, of the logits' dtype.

    Raises:
        BadArgumentError: If shapes do not fit, or a label is not the number of a class.
    """
    log_probabilities = ops.log_softmax(on_device(logits), axis=-1)
    numbers = ops.cast(on_device(labels), "int32")
    if numbers.shape != log_probabilities.shape[:-1]:
        raise BadArgumentError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
            f"labels.shape={tuple(numbers.shape)} and logits.shape={tuple(log_probabilities.shape)}."
        )
    num_classes = log_probabilities.shape[-1]
    check_labels(numbers, num_classes)
    # Subtracted, not negated: what is certain costs 0, as in TensorFlow, and not -0.
    losses = jax.lax.platform_dependent(numbers, 0.0 - log_probabilities, cpu=_gather, default=_choose)
    # What a compiled function computes itself is not looked at. There the loss is NaN, as in TensorFlow on a GPU.
    return ops.where((numbers < 0) | (numbers >= num_classes), np.nan, losses)


def _gather(numbers: Array, values: TensorLike) -> Any:
    """Return the value of each row that a number says. On a CPU up to twice as fast as choosing."""
    return ops.squeeze(ops.take_along_axis(values, ops.expand_dims(numbers, -1), axis=-1), -1)


def _choose(numbers: TensorLike, values: Array) -> Any:
    """Return the same where a compiler fuses this with what is around it; a gather, and its gradient, need copies."""
    is_own = ops.expand_dims(numbers, -1) == ops.arange(values.shape[-1], dtype="int32")
    return ops.sum(ops.where(is_own, values, 0.0), axis=-1)


@op
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None
) -> Any:
    """Return the cross entropy of independent yes-or-no answers, as `tf.nn.sigmoid_cross_entropy_with_logits`.

    Args:
        labels: Probabilities.
        logits: Unscaled, of the same shape.

    Returns:
        The losses, of that shape and the logits' dtype.

    Raises:
        BadArgumentError: If the shapes are different.
    """
    x, truth = on_device(logits), on_device(labels)
    _check_same_shape(truth, x)
    # In this form no exponential overflows, however large a logit is, and the gradient is right where it is 0: relu and
    # abs have one of 0 there.
    is_positive = x >= 0
    lost = ops.where(is_positive, x, 0) - x * ops.cast(truth, x.dtype)
    return lost + ops.log1p(ops.exp(ops.where(is_positive, -x, x)))


@op(arrays=["t"])
def l2_loss(t: TensorLike) -> Any:
    """Half the sum of the squares, a scalar, as `tf.nn.l2_loss`."""
    return ops.sum(ops.square(on_device(t))) / 2


@op(arrays=["features"], sends=True)
def relu(features: PyTree) -> Any:
    """max(x, 0), as `tf.nn.relu`."""
    return ops.relu(features)


@op(arrays=["features"], sends=True)
def relu6(features: PyTree) -> Any:
    """min(max(x, 0), 6), as `tf.nn.relu6`."""
    return ops.relu6(features)


@op(arrays=["features"], sends=True)
def leaky_relu(features: PyTree, alpha: float = 0.2) -> Any:
    """x, and `alpha` * x below 0, as `tf.nn.leaky_relu`; whole numbers become float32."""
    return ops.leaky_relu(features, negative_slope=alpha)


@op(arrays=["features"], sends=True)
def elu(features: PyTree) -> Any:
    """x, and exp(x) - 1 below 0, as `tf.nn.elu`."""
    return ops.elu(features)


@op
def gelu(features: PyTree, approximate: bool = False) -> Any:
    """X times the normal distribution's share below x, as `tf.nn.gelu`."""
    return ops.gelu(features, approximate=approximate)


@raises_named
def silu(features: PyTree, beta: float = 1.0) -> Any:
    """X * sigmoid(beta * x), as `tf.nn.silu` and `tf.nn.swish`."""
    features = on_device(features)
    return features * ops.sigmoid(beta * features)


@op(arrays=["features"], sends=True)
def softplus(features: PyTree) -> Any:
    """log(1 + exp(x)), as `tf.nn.softplus`."""
    return ops.softplus(features)


def _floats(logits: TensorLike) -> Any:
    array = on_device(logits)
    # To NumPy bfloat16 is no inexact number.
    if ops.is_tensor(array) and not np.issubdtype(array.dtype, np.inexact) and array.dtype != "bfloat16":
        raise BadArgumentError(
            f"Logits are floating-point numbers. Received: logits of dtype {array.dtype}. Cast them to tf.float32."
        )
    return array


@op(arrays=["logits"], sends=True)
def softmax(logits: TensorLike, axis: int | None = None) -> Any:
    """exp(x) / sum(exp(x)) along a dimension (None: the last), as `tf.nn.softmax`."""
    given, axis = _floats(logits), -1 if axis is None else axis
    return remember_in_graph(ops.softmax(given, axis=axis), given, "softmax", axis)


@op(arrays=["logits"], sends=True)
def log_softmax(logits: TensorLike, axis: int | None = None) -> Any:
    """X - log(sum(exp(x))) along a dimension (None: the last), as `tf.nn.log_softmax`."""
    return ops.log_softmax(_floats(logits), axis=-1 if axis is None else axis)


@op
def dropout(
    x: TensorLike, rate: float, noise_shape: TensorLike | None = None, seed: int | TensorLike | None = None
) -> Any:
    """Return `x` with a share of `rate` of its elements set to 0 and the others scaled up, as `tf.nn.dropout`.

    Args:
        x: An array.
        rate: The share, from 0 up to but not 1.
        noise_shape: The shape of the decisions, which are broadcast.
        seed: As for `tf.random.normal`.

    Returns:
        An array of x's shape. Replicas make different decisions.

    Raises:
        BadArgumentError: If `rate` is out of its range.
    """
    if isinstance(rate, int | float) and not 0 <= rate < 1:
        raise BadArgumentError(f"The rate is from 0 up to but not 1. Received: rate={shown(rate)}.")
    shape = None if noise_shape is None else sizes_of("noise_shape", noise_shape)
    array = on_device(x)
    if not is_traced(rate):
        return random.dropout(array, rate, noise_shape=shape, seed=source_of(seed))
    # A share that is known when the program runs, which Keras looks at.
    share = ops.cast(rate, array.dtype)
    is_kept = random.uniform(shape or array.shape, dtype=array.dtype, seed=source_of(seed)) >= share
    return ops.where(is_kept, array / (1 - share), ops.zeros_like(array))


@op
def selu(features: PyTree) -> Any:
    """Return scaled x, and scaled exp(x) - 1 below 0, as `tf.nn.selu`."""
    return ops.selu(features)


@op
def softsign(features: PyTree) -> Any:
    """X / (1 + abs(x)), as `tf.nn.softsign`."""
    return ops.softsign(features)


@op
def crelu(features: TensorLike, axis: int = -1) -> Any:
    """Return relu(x) and relu(-x) one behind the other along a dimension, as `tf.nn.crelu`."""
    array = on_device(features)
    return ops.relu(ops.concatenate([array, -array], axis=axis))


@op
def weighted_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, pos_weight: TensorLike) -> Any:
    """Return cross entropies with a weight for yes, as `tf.nn.weighted_cross_entropy_with_logits`.

    Args:
        labels: Probabilities.
        logits: Unscaled, of the same shape.
        pos_weight: The factor of the costs of yes.

    Returns:
        The losses, of that shape and the logits' dtype.

    Raises:
        BadArgumentError: If the shapes are different.
    """
    x, truth = on_device(logits), on_device(labels)
    _check_same_shape(truth, x)
    truth = ops.cast(truth, x.dtype)
    weight = 1 + (on_device(pos_weight) - 1) * truth
    is_positive = x >= 0
    # log(1 + exp(-x)), as in `sigmoid_cross_entropy_with_logits`.
    rest = ops.log1p(ops.exp(ops.where(is_positive, -x, x))) + ops.where(is_positive, 0, -x)
    return (1 - truth) * x + weight * rest


@op
def log_poisson_loss(targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False) -> Any:
    """Return the loss of counts whose logarithm is predicted, as `tf.nn.log_poisson_loss`.

    Args:
        targets: The counts.
        log_input: The logarithms of what is expected, of the same shape.
        compute_full_loss: Whether what does not depend on `log_input` is added, by Stirling's approximation.

    Raises:
        BadArgumentError: If the shapes are different.
    """
    x, counts = on_device(log_input), on_device(targets)
    _check_same_shape(counts, x)
    loss = ops.exp(x) - x * counts
    if not compute_full_loss:
        return loss
    is_some = (counts < 0) | (counts > 1)
    # A logarithm of 0 would make the gradient NaN.
    known = ops.where(is_some, counts, 1.0)
    # Stirling's formula for log(counts!), whose value TensorFlow takes for 0 from 0 to 1.
    stirling = known * ops.log(known) - known + 0.5 * ops.log(2 * math.pi * known)
    return loss + ops.where(is_some, stirling, 0.0)


def _check_same_shape(labels: Array, logits: Array) -> None:
    if labels.shape != logits.shape:
        raise BadArgumentError(
            f"What is true and what is predicted must have one shape. Received: {labels.shape} and {logits.shape}."
        )


@op
def in_top_k(targets: TensorLike, predictions: TensorLike, k: int) -> Any:
    """Return whether each target is among the `k` largest predictions, ties included, as `tf.math.in_top_k`."""
    scores, classes = on_device(predictions), on_device(targets)
    if classes.shape != scores.shape[:1]:
        raise BadArgumentError(
            f"There must be a target for each row of predictions. Received: targets of shape {tuple(classes.shape)}, "
            f"predictions of shape {tuple(scores.shape)}."
        )
    # By comparison rather than by index: a target that is no class is among no predictions.
    is_own = classes[:, None] == ops.arange(scores.shape[1], dtype=classes.dtype)
    own = ops.max(ops.where(is_own, scores, -math.inf), axis=1, keepdims=True)
    # Fewer than k are larger; what is no number is no prediction, as in TensorFlow.
    return ops.isfinite(own[:, 0]) & (ops.sum(scores > own, axis=1) < k)
