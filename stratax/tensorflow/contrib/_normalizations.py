"""Normalizations of `tf.contrib.layers`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._arg_scope import layer_in_scope
from stratax.tensorflow.contrib._collected import Collections, collect_variables
from stratax.tensorflow.contrib._layers import enter, finish, is_channels_first
from stratax.tensorflow.ops.calls.creation import on_device

_Function = Callable[..., Any]

_FIRST_VALUES = {
    "beta": v1.zeros_initializer(),
    "gamma": v1.ones_initializer(),
    "moving_mean": v1.zeros_initializer(),
    "moving_variance": v1.ones_initializer(),
}


@layer_in_scope
def batch_norm(
    inputs: TensorLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: _Function | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: str | None = "update_ops",
    is_training: object = True,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: object = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: object = None,
    renorm: bool = False,
    renorm_clipping: object = None,
    renorm_decay: float = 0.99,
    adjustment: object = None,
) -> Any:
    """Normalize each channel by the batch's mean and variance, as `tf.contrib.layers.batch_norm`.

    The moving statistics are updated at the end of each step of a training, whatever depends on the collection.

    Args:
        inputs: A tensor.
        decay: How much of the moving statistics stays in each step.
        center: Whether `beta` is added.
        scale: Whether it is multiplied by `gamma`.
        epsilon: Added to the variance.
        activation_fn: Applied to the result.
        param_initializers: By the variables' names: `beta`, `gamma`, `moving_mean` and `moving_variance`.
        param_regularizers: Likewise, of `beta` and `gamma`.
        updates_collections: The collection of the operations that update the statistics.
        is_training: Whether it is the batch's statistics that are taken: a boolean or a tensor of one.
        reuse: Whether the variables of `scope` must be there already.
        variables_collections: Collections of all variables, or of each.
        outputs_collections: Collections of the result.
        trainable: Whether optimizers see the variables.
        batch_weights: Refused.
        fused: False for the numbers of TensorFlow's other kernel.
        data_format: `"NHWC"` or `"NCHW"`.
        zero_debias_moving_mean: Refused.
        scope: The variable scope, or its name.
        renorm: Refused.
        renorm_clipping: Ignored.
        renorm_decay: Ignored.
        adjustment: Refused.

    Raises:
        BadArgumentError: For what is refused.
    """
    for name, given in (
        ("batch_weights", batch_weights),
        ("zero_debias_moving_mean", zero_debias_moving_mean),
    ):
        if given is not None and given is not False:
            raise errors.BadArgumentError(
                f"tf.contrib.layers.batch_norm does not support {name}. Received: {name}={shown(given)}."
            )
    initializers = {**_FIRST_VALUES, **(param_initializers or {})}
    regularizers = param_regularizers or {}
    array = on_device(inputs)
    rank = array.ndim
    # contrib takes the fused kernel for vectors, too: as images of one pixel.
    is_vector = rank == 2 and fused is not False
    with enter(scope, "BatchNorm", reuse) as entered:
        layer = v1.layers.BatchNormalization(
            axis=1 if is_channels_first(data_format) and rank > 2 else -1,
            momentum=decay,
            epsilon=epsilon,
            center=center,
            scale=scale,
            **{f"{name}_initializer": each for name, each in initializers.items()},
            **{f"{name}_regularizer": each for name, each in regularizers.items()},
            trainable=trainable,
            renorm=renorm,
            adjustment=adjustment,
            fused=fused if is_vector or rank == 4 else False,
            _scope=entered,
            _reuse=reuse,
        )
        given = array[:, None, None, :] if is_vector else array
        outputs = layer.apply(given, training=is_training).reshape(array.shape)
        names = ["moving_mean", "moving_variance", *["beta"] * center, *["gamma"] * scale]
        collect_variables({name: getattr(layer, name) for name in names}, variables_collections)
        return finish(outputs, entered, activation_fn, outputs_collections)


def _affine(
    outputs: Any,
    sizes: Sequence[int],
    shape: Sequence[int],
    center: bool,
    scale: bool,
    initializers: Mapping[str, Any] | None,
    collections: Collections,
    trainable: bool,
) -> Any:
    """Multiply by gamma and add beta, which are made in the scope that is entered.

    Args:
        outputs: What was normalized.
        sizes: The variables' shape.
        shape: The shape in which they are broadcast.
        center: Whether there is a beta.
        scale: Whether there is a gamma.
        initializers: Of both, by name.
        collections: Of both.
        trainable: Whether optimizers see them.
    """
    made: dict[str, Any] = {
        name: v1.get_variable(
            name,
            tuple(sizes),
            dtype=outputs.dtype,
            initializer={**_FIRST_VALUES, **(initializers or {})}[name],
            trainable=trainable,
        )
        for name, is_there in (("beta", center), ("gamma", scale))
        if is_there
    }
    collect_variables(made, collections)
    arrays = {name: jnp.reshape(on_device(variable), tuple(shape)) for name, variable in made.items()}
    if "gamma" in arrays:
        outputs = outputs * arrays["gamma"]
    return outputs + arrays["beta"] if "beta" in arrays else outputs


def _normalize(array: Any, axes: Sequence[int], epsilon: float) -> Any:
    mean = jnp.mean(array, tuple(axes), keepdims=True)
    variance = jnp.mean(jnp.square(array - mean), tuple(axes), keepdims=True)
    return (array - mean) * jax.lax.rsqrt(variance + epsilon)


@layer_in_scope
def layer_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: _Function | None = None,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: object = None,
) -> Any:
    """Normalize each example by its own mean and variance, as `tf.contrib.layers.layer_norm`.

    Args:
        inputs: A tensor.
        center: Whether `beta` is added.
        scale: Whether it is multiplied by `gamma`.
        activation_fn: Applied to the result.
        reuse: Whether the variables of `scope` must be there already.
        variables_collections: Collections of all variables, or of each.
        outputs_collections: Collections of the result.
        trainable: Whether optimizers see the variables.
        begin_norm_axis: The first dimension of those that are normalized together.
        begin_params_axis: The first dimension of `beta` and `gamma`.
        scope: The variable scope, or its name.

    Raises:
        BadArgumentError: If a dimension is none of the inputs'.
    """
    array = on_device(inputs)
    begin = _axis("begin_norm_axis", begin_norm_axis, array.ndim)
    params = _axis("begin_params_axis", begin_params_axis, array.ndim)
    epsilon = 1e-3 if array.dtype == jnp.float16 else 1e-12
    with enter(scope, "LayerNorm", reuse) as entered:
        sizes = array.shape[params:]
        outputs = _normalize(array, range(begin, array.ndim), epsilon)
        outputs = _affine(outputs, sizes, sizes, center, scale, None, variables_collections, trainable)
        return finish(outputs, entered, activation_fn, outputs_collections)


@layer_in_scope
def instance_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: _Function | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: object = None,
) -> Any:
    """Normalize each channel of each example, as `tf.contrib.layers.instance_norm`; arguments as in `batch_norm`."""
    array = on_device(inputs)
    channels = 1 if is_channels_first(data_format) else array.ndim - 1
    shape = [1] * array.ndim
    shape[channels] = array.shape[channels]
    with enter(scope, "InstanceNorm", reuse) as entered:
        outputs = _normalize(array, [axis for axis in range(1, array.ndim) if axis != channels], epsilon)
        outputs = _affine(
            outputs,
            [array.shape[channels]],
            shape,
            center,
            scale,
            param_initializers,
            variables_collections,
            trainable,
        )
        return finish(outputs, entered, activation_fn, outputs_collections)


@layer_in_scope
def group_norm(
    inputs: TensorLike,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: _Function | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: object = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Normalize groups of channels of each example, as `tf.contrib.layers.group_norm`.

    Args:
        inputs: A tensor.
        groups: How many groups the channels form.
        channels_axis: The dimension of the channels.
        reduction_axes: The dimensions that are normalized together with a group.
        center: As in `batch_norm`.
        scale: Likewise.
        epsilon: Likewise.
        activation_fn: Likewise.
        param_initializers: Likewise.
        reuse: Likewise.
        variables_collections: Likewise.
        outputs_collections: Likewise.
        trainable: Likewise.
        scope: Likewise.
        mean_close_to_zero: Ignored: the variance is always that of the distances from the mean.

    Raises:
        BadArgumentError: If the channels don't divide by the groups, or dimensions are wrong.
    """
    array = on_device(inputs)
    axis = _axis("channels_axis", channels_axis, array.ndim)
    reduced = [_axis("reduction_axes", each, array.ndim) for each in reduction_axes]
    channels = array.shape[axis]
    if channels % groups or axis in reduced:
        raise errors.BadArgumentError(
            f"{channels} channels must divide by the groups, and reduction_axes be others than channels_axis. "
            f"Received: groups={groups}, channels_axis={channels_axis}, reduction_axes={shown(reduction_axes)}."
        )
    shape = [1] * array.ndim
    shape[axis] = channels
    with enter(scope, "GroupNorm", reuse) as entered:
        apart = array.reshape(*array.shape[:axis], groups, channels // groups, *array.shape[axis + 1 :])
        axes = [axis + 1, *(each + 1 if each > axis else each for each in reduced)]
        outputs = _normalize(apart, axes, epsilon).reshape(array.shape)
        outputs = _affine(
            outputs,
            [channels],
            shape,
            center,
            scale,
            param_initializers,
            variables_collections,
            trainable,
        )
        return finish(outputs, entered, activation_fn, outputs_collections)


def _axis(name: str, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise errors.BadArgumentError(f"{name} must be a dimension of {rank} ones. Received: {name}={axis}.")
    return axis % rank
