"""The larger half of `tf.keras.backend`: shapes, products, convolutions, draws and losses (keras2 layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from stratax.base.shown import shown
from stratax.core.state import generator_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.math.linalg import tensordot

_FIRST, _LAST = "channels_first", "channels_last"


def concatenate(tensors: Sequence[Any], axis: int = -1) -> Any:
    """Join arrays along an axis, by default the last."""
    return ops.concatenate(tensors, axis=axis)


def stack(x: Sequence[Any], axis: int = 0) -> Any:
    """Stack arrays along a new axis."""
    return ops.stack(x, axis=axis)


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """Give an array another shape."""
    return ops.reshape(x, shape)


def expand_dims(x: Any, axis: int = -1) -> Any:
    """Add an axis of size 1, by default the last."""
    return ops.expand_dims(x, axis)


def squeeze(x: Any, axis: int) -> Any:
    """Remove an axis of size 1."""
    return ops.squeeze(x, axis)


def flatten(x: Any) -> Any:
    """Return all elements in one dimension."""
    return ops.reshape(x, (-1,))


def batch_flatten(x: Any) -> Any:
    """Return the elements of each example in one dimension."""
    return ops.reshape(x, (-1, int(np.prod(x.shape[1:]))))


def transpose(x: Any) -> Any:
    """Reverse the axes."""
    return ops.transpose(x)


def permute_dimensions(x: Any, pattern: Sequence[int]) -> Any:
    """Reorder the axes."""
    return ops.transpose(x, axes=pattern)


def reverse(x: Any, axes: int | Sequence[int]) -> Any:
    """Reverse an array along axes."""
    return ops.flip(x, axis=axes)


def repeat(x: Any, n: int) -> Any:
    """Repeat a matrix `n` times along a new second axis."""
    return ops.tile(ops.expand_dims(x, 1), (1, n, 1))


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """Repeat every element along an axis."""
    return ops.repeat(x, rep, axis=axis)


def tile(x: Any, n: int | Sequence[int]) -> Any:
    """Put copies of an array side by side."""
    return ops.tile(x, [n] if isinstance(n, int) else n)


def gather(reference: Any, indices: Any) -> Any:
    """Return the rows of these indices."""
    return ops.take(reference, indices, axis=0)


def one_hot(indices: Any, num_classes: int) -> Any:
    """Return a 1 at each index, and 0 elsewhere."""
    return ops.one_hot(ops.cast(indices, "int32"), num_classes)


def to_dense(tensor: Any) -> Any:
    """Return an array; there are no sparse ones to convert."""
    return tensor


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Return one of two arrays, or what one of two functions returns, by a condition."""
    then = then_expression() if callable(then_expression) else then_expression
    other = else_expression() if callable(else_expression) else else_expression
    missing = len(np.shape(then)) - len(np.shape(condition))
    # What Keras 2 does: a condition with one dimension belongs to the last axis, one with more to the first ones.
    if len(np.shape(condition)) > 1 and missing > 0:
        condition = ops.reshape(condition, (*np.shape(condition), *(1,) * missing))
    return ops.where(ops.cast(condition, "bool"), then, other)


def dot(x: Any, y: Any) -> Any:
    """Multiply matrices; with more dimensions, the last of `x` with the last but one of `y`."""
    ranks = np.ndim(x), np.ndim(y)
    if 0 in ranks:
        return ops.dot(x, y)
    # Ours: in a pipeline's function it stays on the host.
    return tensordot(x, y, [[ranks[0] - 1], [max(ranks[1] - 2, 0)]])


def batch_dot(x: Any, y: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Multiply the arrays of each example along one axis of each.

    Args:
        x: An array with at least two dimensions.
        y: Another, of as many examples.
        axes: The axis of each that is summed over; None means the last of `x` and the last but one of `y`, or its last
            if it has two.

    Returns:
        The remaining axes of `x`, then those of `y`; of two vectors for each example, a column.
    """
    ranks = len(x.shape), len(y.shape)
    if axes is None:
        axes = (ranks[0] - 1, ranks[1] - 1 if ranks[1] == 2 else ranks[1] - 2)
    first, second = (axes, axes) if isinstance(axes, int) else axes
    first, second = first % ranks[0], second % ranks[1]
    if 0 in (first, second):
        raise BadArgumentError(f"The first axis is that of the examples. Received: axes={shown(axes)}.")
    letters = "abcdefghijklmnopqrstuvw"
    left = ["z", *letters[: ranks[0] - 1]]
    right = ["z", *letters[ranks[0] - 1 : ranks[0] + ranks[1] - 2]]
    right[second] = left[first]
    kept = [axis for axis in left if axis != left[first]] + [
        axis for axis in right[1:] if axis != left[first]
    ]
    product = ops.einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", x, y)
    return ops.expand_dims(product, 1) if len(kept) == 1 else product


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    """Add a bias to the channels."""
    if _format(data_format) == _FIRST and len(x.shape) > 2:
        bias = ops.reshape(bias, (1, -1, *(1,) * (len(x.shape) - 2)))
    return ops.add(x, bias)


def _format(data_format: str | None) -> str:
    chosen = data_format or keras.backend.image_data_format()
    if chosen not in (_FIRST, _LAST):
        raise BadArgumentError(
            f"data_format must be '{_FIRST}' or '{_LAST}'. Received: data_format={shown(data_format)}."
        )
    return chosen


def _convolution(num_dims: int) -> Callable[..., Any]:
    """Return a convolution over so many dimensions."""

    def convolve(
        x: Any,
        kernel: Any,
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
    ) -> Any:
        return ops.conv(x, kernel, strides, padding, _format(data_format), dilation_rate)

    convolve.__name__ = convolve.__qualname__ = f"conv{num_dims}d"
    convolve.__doc__ = f"Compute `keras.ops.conv` over {num_dims} dimensions."
    return convolve


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Convolve every channel with kernels of its own."""
    return ops.depthwise_conv(x, depthwise_kernel, strides, padding, _format(data_format), dilation_rate)


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Convolve every channel by itself, then the channels at each place."""
    return ops.separable_conv(
        x, depthwise_kernel, pointwise_kernel, strides, padding, _format(data_format), dilation_rate
    )


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Sequence[int],
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Compute the transpose of a convolution.

    Args:
        x: Images.
        kernel: (height, width, output channels, input channels).
        output_shape: What the result has to have; what it has follows from the rest.
        strides: Steps of the convolution.
        padding: "valid" or "same".
        data_format: Where the channels are; None means `keras.backend.image_data_format()`.
        dilation_rate: Distances within the kernel.

    Raises:
        BadArgumentError: If the result has another shape.
    """
    result = ops.conv_transpose(
        x, kernel, strides, padding, data_format=_format(data_format), dilation_rate=dilation_rate
    )
    if any(want not in (None, -1, have) for want, have in zip(output_shape, result.shape, strict=True)):
        raise BadArgumentError(
            f"The result has the shape {tuple(result.shape)}. Received: output_shape={shown(output_shape)}."
        )
    return result


def _pooling(num_dims: int) -> Callable[..., Any]:
    """Return a pooling over so many dimensions."""

    def pool(
        x: Any,
        pool_size: Sequence[int],
        strides: Sequence[int] = (1,) * num_dims,
        padding: str = "valid",
        data_format: str | None = None,
        pool_mode: str = "max",
    ) -> Any:
        if pool_mode not in ("max", "avg"):
            raise BadArgumentError(
                f"pool_mode must be 'max' or 'avg'. Received: pool_mode={shown(pool_mode)}."
            )
        function = ops.max_pool if pool_mode == "max" else ops.average_pool
        return function(x, pool_size, strides, padding, _format(data_format))

    pool.__name__ = pool.__qualname__ = f"pool{num_dims}d"
    pool.__doc__ = f"Take the maximum or mean of windows over {num_dims} dimensions."
    return pool


pool2d, pool3d = map(_pooling, (2, 3))


def temporal_padding(x: Any, padding: Sequence[int] = (1, 1)) -> Any:
    """Add zeros before and behind the second axis."""
    return ops.pad(x, [(0, 0), tuple(padding), (0, 0)])


def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Any:
    """Add zeros around images."""
    return _pad(x, padding, data_format)


def spatial_3d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Add zeros around volumes."""
    return _pad(x, padding, data_format)


def _pad(x: Any, padding: Any, data_format: str | None) -> Any:
    inner = [tuple(each) for each in padding]
    around = [(0, 0), (0, 0), *inner] if _format(data_format) == _FIRST else [(0, 0), *inner, (0, 0)]
    return ops.pad(x, around)


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Any:
    """Enlarge images by whole factors."""
    rows = 2 if _format(data_format) == _FIRST else 1
    size = (x.shape[rows] * height_factor, x.shape[rows + 1] * width_factor)
    return ops.image.resize(x, size, interpolation=interpolation, data_format=data_format)


def resize_volumes(x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Any:
    """Enlarge volumes by repeating their elements."""
    first = 2 if _format(data_format) == _FIRST else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = ops.repeat(x, factor, axis=axis)
    return x


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Any:
    """Return `(x - mean) / sqrt(var + epsilon) * gamma + beta`."""
    return ops.batch_normalization(x, mean, var, axis, offset=beta, scale=gamma, epsilon=epsilon)


def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Sequence[int], epsilon: float = 1e-3
) -> tuple[Any, Any, Any]:
    """Normalise a batch by its own statistics, and return these, too."""
    mean, var = ops.moments(x, axes=list(reduction_axes), keepdims=True)
    normal = (x - mean) * ops.rsqrt(var + epsilon)
    normal = normal * (1.0 if gamma is None else gamma) + (0.0 if beta is None else beta)
    return normal, ops.squeeze(mean), ops.squeeze(var)


def dropout(x: Any, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """Set a share of the elements to 0 and enlarge the others to keep the sum."""
    return keras.random.dropout(x, level, noise_shape=noise_shape, seed=generator_of(seed))


def random_normal(
    shape: Sequence[int], mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Draw from a normal distribution."""
    return keras.random.normal(shape, mean, stddev, dtype=dtype, seed=generator_of(seed))


def random_uniform(
    shape: Sequence[int], minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Draw from a uniform distribution."""
    return keras.random.uniform(shape, minval, maxval, dtype=dtype, seed=generator_of(seed))


def truncated_normal(
    shape: Sequence[int], mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Draw from a normal distribution, and again what is over two standard deviations away."""
    return keras.random.truncated_normal(shape, mean, stddev, dtype=dtype, seed=generator_of(seed))


def random_bernoulli(shape: Sequence[int], p: float = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """Draw 1 with a probability, else 0."""
    drawn = keras.random.uniform(shape, seed=generator_of(seed)) < p
    return ops.cast(drawn, dtype or keras.backend.floatx())


random_binomial = random_bernoulli


def random_normal_variable(
    shape: Sequence[int],
    mean: float,
    scale: float,
    dtype: Any = None,
    name: str | None = None,
    seed: Any = None,
) -> keras.Variable:
    """Return a variable with values from a normal distribution."""
    return keras.Variable(random_normal(shape, mean, scale, dtype, seed), name=name)


def random_uniform_variable(
    shape: Sequence[int],
    low: float,
    high: float,
    dtype: Any = None,
    name: str | None = None,
    seed: Any = None,
) -> keras.Variable:
    """Return a variable with values from a uniform distribution."""
    return keras.Variable(random_uniform(shape, low, high, dtype, seed), name=name)


def map_fn(fn: Callable[..., Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """Call a function for every element along the first axis, and stack what it returns."""
    return ops.map(fn, elems)


def foldl(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """Combine the elements along the first axis from the left."""
    start, rest = (elems[0], elems[1:]) if initializer is None else (initializer, elems)
    return ops.scan(lambda carry, element: (fn(carry, element), None), ops.convert_to_tensor(start), rest)[0]


def foldr(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """Combine the elements along the first axis from the right."""
    return foldl(fn, ops.flip(elems, axis=0), initializer)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Return the crossentropy of each element."""
    return ops.binary_crossentropy(target, output, from_logits=from_logits)


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Return the crossentropy of each example."""
    return ops.categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1, ignore_class: int | None = None
) -> Any:
    """Return the crossentropy of each example, whose class is a number."""
    return keras.losses.sparse_categorical_crossentropy(
        target, output, from_logits=from_logits, ignore_class=ignore_class, axis=axis
    )


def binary_focal_crossentropy(
    target: Any,
    output: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> Any:
    """Return the crossentropy of each element, less for those that are right."""
    probability = ops.sigmoid(output) if from_logits else output
    p = target * probability + (1 - target) * (1 - probability)
    loss = ops.power(1.0 - p, gamma) * binary_crossentropy(target, output, from_logits)
    return loss * (target * alpha + (1 - target) * (1 - alpha)) if apply_class_balancing else loss


def in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    """Return whether each target is among the k largest predictions."""
    return ops.in_top_k(targets, predictions, k)


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """Return the CTC loss of each example, in a column.

    Args:
        y_true: Labels, (examples, longest label).
        y_pred: Probabilities after a softmax, (examples, time, classes); the last class is the blank.
        input_length: Steps of time of each example, in a column.
        label_length: The length of each label, in a column.
    """
    logits = ops.log(ops.convert_to_tensor(y_pred) + keras.backend.epsilon())
    lengths = [ops.cast(ops.squeeze(each, axis=-1), "int32") for each in (label_length, input_length)]
    loss = ops.ctc_loss(ops.cast(y_true, "int32"), logits, *lengths, mask_index=y_pred.shape[-1] - 1)
    return ops.expand_dims(loss, 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """Return the most likely labels, padded with -1, and their scores.

    Args:
        y_pred: Probabilities after a softmax, (examples, time, classes); the last class is the blank.
        input_length: Steps of time of each example.
        greedy: Whether the likeliest class of each step is taken.
        beam_width: How many candidates are kept otherwise.
        top_paths: How many of them are returned.
    """
    logits = ops.log(ops.convert_to_tensor(y_pred) + keras.backend.epsilon())
    decoded, scores = ops.ctc_decode(
        logits,
        ops.cast(input_length, "int32"),
        strategy="greedy" if greedy else "beam_search",
        beam_width=beam_width,
        top_paths=top_paths,
        mask_index=y_pred.shape[-1] - 1,
        merge_repeated=True,
    )
    return list(decoded), scores
