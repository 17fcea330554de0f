"""Array functions under TensorFlow 1's names and arguments, where TensorFlow 2 has others (v1 layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.recording import recordable
from stratax.base.typing import Axis, DTypeLike, TensorLike
from stratax.tensorflow.ops.arrays import arrays
from stratax.tensorflow.ops.calls import creation
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.control import flow
from stratax.tensorflow.ops.math import arithmetic, elementwise, linalg, reductions
from stratax.tensorflow.ops.nn import convolutions, embeddings, nn, normalization, pooling
from stratax.tensorflow.ops.random import random

_Axis = Any


def either(new_name: str, new: object, old_name: str, old: object) -> Any:
    """Return what an argument is that has two names."""
    if old is None:
        return new
    if new is not None:
        raise errors.BadArgumentError(
            f"{old_name} is an older name of {new_name}. Received: both. Pass {new_name} only."
        )
    return old


def _reduction(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def reduce(
        input_tensor: TensorLike,
        axis: _Axis = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: _Axis = None,
        keep_dims: bool | None = None,
    ) -> Any:
        axis = either("axis", axis, "reduction_indices", reduction_indices)
        keepdims = bool(either("keepdims", keepdims, "keep_dims", keep_dims))
        return function(input_tensor, axis, keepdims, name=name)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"""Reduce dimensions, as `tf.compat.v1.{name}`.

Args:
    input_tensor: A tensor.
    axis: The dimension, several in a list, or None for all.
    keepdims: Whether reduced dimensions stay, with size 1.
    name: By which hooks find the result, in a `model_fn`.
    reduction_indices: The older name of `axis`.
    keep_dims: The older name of `keepdims`."""
    return reduce


reduce_all = _reduction(reductions.reduce_all, "reduce_all")
reduce_any = _reduction(reductions.reduce_any, "reduce_any")
reduce_logsumexp = _reduction(reductions.reduce_logsumexp, "reduce_logsumexp")
reduce_max = _reduction(reductions.reduce_max, "reduce_max")
reduce_mean = _reduction(reductions.reduce_mean, "reduce_mean")
reduce_min = _reduction(reductions.reduce_min, "reduce_min")
reduce_prod = _reduction(reductions.reduce_prod, "reduce_prod")
reduce_sum = _reduction(reductions.reduce_sum, "reduce_sum")


# `name` stands in the middle of TensorFlow 1's arguments and at the end of TensorFlow 2's, and programs give all of
# them by position: so these are functions of their own.
def argmax(
    input: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dimension: int | None = None,
    output_type: DTypeLike = "int64",
) -> Any:
    """Return where the largest elements are, as `tf.compat.v1.argmax`; `dimension` is the older name of `axis`."""
    return reductions.argmax(input, either("axis", axis, "dimension", dimension), output_type, name=name)


def argmin(
    input: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dimension: int | None = None,
    output_type: DTypeLike = "int64",
) -> Any:
    """Return where the smallest elements are, as `tf.compat.v1.argmin`; `dimension` is the older name of `axis`."""
    return reductions.argmin(input, either("axis", axis, "dimension", dimension), output_type, name=name)


def expand_dims(
    input: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """Add a dimension of size 1, as `tf.compat.v1.expand_dims`; `dim` is the older name of `axis`."""
    return arrays.expand_dims(input, either("axis", axis, "dim", dim), name=name)


def squeeze(
    input: TensorLike, axis: _Axis = None, name: str | None = None, squeeze_dims: _Axis = None
) -> Any:
    """Remove dimensions of size 1, as `tf.compat.v1.squeeze`; `squeeze_dims` is the older name of `axis`."""
    return arrays.squeeze(input, either("axis", axis, "squeeze_dims", squeeze_dims), name=name)


def shape(input: TensorLike, name: str | None = None, out_type: object = "int32") -> Any:
    """Return a tensor's shape, as `tf.compat.v1.shape`."""
    return arrays.shape(input, out_type, name=name)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = "int32") -> Any:
    """Return how many elements a tensor has, as `tf.compat.v1.size`."""
    return arrays.size(input, out_type, name=name)


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: object = None,
    name: str | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
) -> Any:
    """Return slices by their indices, as `tf.compat.v1.gather`."""
    return arrays.gather(params, indices, axis=axis, batch_dims=batch_dims, name=name)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Any:
    """Return slices by their indices, row by row, as `tf.compat.v1.batch_gather`.

    Args:
        params: A tensor.
        indices: Its last dimension has indices in the same dimension of `params`; those before are alike in both.
        name: As for other functions.
    """
    # All dimensions before the last one are a batch.
    last = np.ndim(indices) - 1
    return arrays.gather(params, indices, axis=last, batch_dims=last, name=name)


def norm(
    tensor: TensorLike,
    ord: object = "euclidean",
    axis: _Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return norms of vectors or matrices, as `tf.compat.v1.norm`; `keep_dims` is the older name of `keepdims`."""
    keepdims = bool(either("keepdims", keepdims, "keep_dims", keep_dims))
    return linalg.norm(tensor, ord, axis, keepdims, name=name)


def _cast(name: str, dtype: str) -> Callable[..., Any]:
    def convert(x: TensorLike, name: str | None = None) -> Any:
        return arrays.cast(x, dtype, name=name)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"Return a tensor as {dtype}, as `tf.{name}`."
    return convert


to_bfloat16 = _cast("to_bfloat16", "bfloat16")
to_complex64 = _cast("to_complex64", "complex64")
to_complex128 = _cast("to_complex128", "complex128")
to_double = _cast("to_double", "float64")
to_float = _cast("to_float", "float32")
to_int32 = _cast("to_int32", "int32")
to_int64 = _cast("to_int64", "int64")


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: float = 0,
) -> Any:
    """Return `tensor` with values around it, as `tf.compat.v1.pad`, where `name` comes before `constant_values`."""
    return arrays.pad(tensor, paddings, mode, constant_values, name=name)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """Divide as Python 2 does, as `tf.div`: whole numbers are rounded down."""
    # Lists have no dtype to look at; what is divided are the operands as they came, which stay where they are.
    operands = [creation.convert_to_tensor(operand) for operand in (x, y)]
    is_whole = all(operand.dtype.kind in "iu" for operand in operands)
    function = elementwise.floordiv if is_whole else elementwise.divide
    return function(x, y, name=name)


def multinomial(
    logits: TensorLike,
    num_samples: int,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Any:
    """Draw classes with the probabilities that `logits` say, as `tf.multinomial`."""
    return random.categorical(logits, num_samples, output_dtype, seed, name=name)


def softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """Return exp(x) / sum(exp(x)), as `tf.compat.v1.nn.softmax`; `dim` is the older name of `axis`."""
    return nn.softmax(logits, either("axis", axis, "dim", dim), name=name)


def log_softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """Return log(softmax(x)), as `tf.compat.v1.nn.log_softmax`; `dim` is the older name of `axis`."""
    return nn.log_softmax(logits, either("axis", axis, "dim", dim), name=name)


def dropout(
    x: TensorLike,
    keep_prob: Any = None,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike | None = None,
) -> Any:
    """Set elements to 0 by chance, as `tf.compat.v1.nn.dropout`.

    Args:
        x: A tensor.
        keep_prob: The chance that an element stays.
        noise_shape: The shape of what is drawn.
        seed: As for `tf.nn.dropout`.
        name: By which hooks find the result, in a `model_fn`.
        rate: Instead of `keep_prob`: the chance that an element becomes 0.
    """
    # TensorFlow 2 has `rate` in the same place: a number without a name means the opposite there.
    rate = either("rate", rate, "keep_prob", None if keep_prob is None else 1 - keep_prob)
    if rate is None:
        raise errors.BadArgumentError("tf.nn.dropout needs rate or keep_prob. Received: neither.")
    return nn.dropout(x, rate, noise_shape, seed, name=name)


def softmax_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Any:
    """Return cross entropies, as `tf.compat.v1.nn` has them: no gradient reaches the labels."""
    # `_v2` lets it through, for labels that are computed themselves, as in distillation.
    labels = arrays.stop_gradient(labels)
    return nn.softmax_cross_entropy_with_logits(labels, logits, dim if axis is None else axis, name=name)


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Any:
    """Return cross entropies, as `tf.nn.softmax_cross_entropy_with_logits_v2`; `dim` is the older name of `axis`."""
    axis = either("axis", axis, "dim", dim)
    return nn.softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis, name=name)


def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: object = None,
    padding: object = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: object = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Any:
    """Convolve images, as `tf.compat.v1.nn.conv2d`; the arguments are those of `tf.nn.conv2d`.

    `filter` is the older name of `filters`, and `use_cudnn_on_gpu` is ignored.
    """
    kernel: Any = either("filters", filters, "filter", filter)
    return convolutions.conv2d(
        input, kernel, 1 if strides is None else strides, padding, data_format, dilations, name=name
    )


def moments(
    x: TensorLike,
    axes: Axis,
    shift: object = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> Any:
    """Return mean and variance, as `tf.compat.v1.nn.moments`; `keep_dims` is the older name of `keepdims`."""
    return normalization.moments(
        x, axes, shift, bool(either("keepdims", keepdims, "keep_dims", keep_dims)), name=name
    )


@op(name_after="partition_strategy")
def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    """Return rows of a matrix, as `tf.compat.v1.nn.embedding_lookup`.

    The arguments are those of `tf.nn.embedding_lookup`, except that parts of a matrix have its rows in turn unless
    `partition_strategy` is `"div"`; `validate_indices` is ignored.
    """
    # In TensorFlow 2 the strategy is always "div": the rows of another table.
    return embeddings.rows_of(params, ids, max_norm, partition_strategy)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int, name: str | None = None) -> Any:
    """Return whether targets are among the largest predictions, as `tf.compat.v1.nn.in_top_k`."""
    # TensorFlow 2 has the operands the other way round.
    return nn.in_top_k(targets, predictions, k, name=name)


def l2_normalize(
    x: TensorLike, axis: Axis = None, epsilon: float = 1e-12, name: str | None = None, dim: object = None
) -> Any:
    """Divide by the length, as `tf.compat.v1.nn.l2_normalize`; `dim` is the older name of `axis`."""
    return arithmetic.l2_normalize(x, either("axis", axis, "dim", dim), epsilon, name=name)


def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Any:
    """Return `x @ weights + biases`, as `tf.nn.xw_plus_b`."""
    return normalization.bias_add(linalg.matmul(x, weights), biases, name=name)


def _pooling(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def pool(
        value: TensorLike | None = None,
        ksize: object = None,
        strides: object = None,
        padding: str = "VALID",
        data_format: str = "NHWC",
        name: str | None = None,
        input: TensorLike | None = None,
    ) -> Any:
        images: Any = either("input", input, "value", value)
        return function(images, ksize, strides, padding, data_format, name=name)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = (
        f"Pool images, as `tf.compat.v1.nn.{name}`; the arguments are those of `tf.nn.{name}`.\n\n"
        "`value` is the older name of `input`."
    )
    return pool


avg_pool = _pooling(pooling.avg_pool, "avg_pool")
max_pool = _pooling(pooling.max_pool, "max_pool")


@op
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return `x` where `condition` holds, else `y`; or without them where it holds; as `tf.compat.v1.where`.

    Args:
        condition: Booleans: of the shape of `x`, one for each of its rows, or a single one.
        x: An array.
        y: Another, of the same shape.

    Raises:
        BadArgumentError: If the shapes do not fit, or only one of `x` and `y` is there.
    """
    if x is not None and y is not None:
        # TensorFlow's operation is `Select`, which does not broadcast; a program may rely on its refusal.
        shapes = [np.shape(each) for each in (condition, x, y)]
        rank = len(shapes[1])
        if shapes[1] != shapes[2] or shapes[0] not in ((), shapes[1][:1], shapes[1]):
            raise errors.BadArgumentError(
                "x and y have one shape, and the condition has it too, or is a vector of as many elements as they have "
                f"rows. Received: condition of shape {shapes[0]}, x of shape {shapes[1]}, y of shape {shapes[2]}. Use "
                "tf.compat.v2.where, which broadcasts."
            )
        # A vector chooses whole rows.
        if len(shapes[0]) == 1 < rank:
            condition = arrays.reshape(condition, (-1, *[1] * (rank - 1)))
    return arrays.where(condition, x, y)


@recordable
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: object,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: object = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat a body as long as a condition holds, as `tf.compat.v1.while_loop`; of a single variable give its value.

    Args:
        cond: As for `tf.while_loop`, as are the other arguments.
        body: A function of the loop's variables that gives their next values.
        loop_vars: A list or tuple of them.
        shape_invariants: Ignored.
        parallel_iterations: Ignored.
        back_prop: Ignored.
        swap_memory: Ignored.
        name: Ignored.
        maximum_iterations: The largest number of iterations.
        return_same_structure: Whether a single variable's value is given in a list, as `loop_vars` has it.
    """
    values = flow.while_loop(cond, body, loop_vars, maximum_iterations=maximum_iterations)
    return values if return_same_structure or len(values) != 1 else values[0]
