"""Layers of `tf.contrib.layers` that have no kernel: poolings, dropout, embeddings, and what repeats layers."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._arg_scope import layer_in_scope
from stratax.tensorflow.contrib._collected import Collections, collect_named_outputs, collect_variables
from stratax.tensorflow.contrib._layers import ZEROS, enter, finish, is_channels_first
from stratax.tensorflow.ops.calls.creation import on_device

_Function = Callable[..., Any]
_Size = int | Sequence[int]


def _pooling(layer: type[Any], name: str, scope_name: str, data_format: str) -> _Function:
    def function(
        inputs: TensorLike,
        kernel_size: _Size,
        stride: _Size = 2,
        padding: str = "VALID",
        data_format: str = data_format,
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        """Take one number of each window.

        Args:
            inputs: A tensor.
            kernel_size: The window's size in each dimension, or one number for all.
            stride: The steps, likewise.
            padding: `"VALID"` or `"SAME"`.
            data_format: `"NHWC"` or `"NCHW"`, with D for three dimensions.
            outputs_collections: Collections of the result.
            scope: A name.
        """
        given = "channels_first" if is_channels_first(data_format) else "channels_last"
        with v1.variable_scope(scope, scope_name) as entered:
            outputs = layer(kernel_size, stride, padding.lower(), given, _scope=entered).apply(inputs)
            return collect_named_outputs(outputs_collections, entered.name, outputs)

    function.__name__ = function.__qualname__ = name
    return layer_in_scope(function)


max_pool2d = _pooling(v1.layers.MaxPooling2D, "max_pool2d", "MaxPool2D", "NHWC")
avg_pool2d = _pooling(v1.layers.AveragePooling2D, "avg_pool2d", "AvgPool2D", "NHWC")
max_pool3d = _pooling(v1.layers.MaxPooling3D, "max_pool3d", "MaxPool3D", "NDHWC")
avg_pool3d = _pooling(v1.layers.AveragePooling3D, "avg_pool3d", "AvgPool3D", "NDHWC")


@layer_in_scope
def dropout(
    inputs: TensorLike,
    keep_prob: float = 0.5,
    noise_shape: Sequence[int | None] | None = None,
    is_training: object = True,
    outputs_collections: Any = None,
    scope: object = None,
    seed: int | None = None,
) -> Any:
    """Set elements to 0 by chance in training, as `tf.contrib.layers.dropout`.

    Args:
        inputs: A tensor.
        keep_prob: The chance to stay, above 0 and at most 1.
        noise_shape: The shape of what is drawn, which is broadcast.
        is_training: Whether elements are dropped.
        outputs_collections: Collections of the result.
        scope: A name.
        seed: Of a generator of its own.
    """
    with v1.variable_scope(scope, "Dropout") as entered:
        layer = v1.layers.Dropout(1 - keep_prob, noise_shape, seed, _scope=entered)
        outputs = layer.apply(inputs, training=is_training)
        return collect_named_outputs(outputs_collections, entered.name, outputs)


@layer_in_scope
def flatten(inputs: TensorLike, outputs_collections: Any = None, scope: object = None) -> Any:
    """Join all dimensions but the batch's, as `tf.contrib.layers.flatten`.

    Args:
        inputs: A tensor.
        outputs_collections: Collections of the result.
        scope: A name.
    """
    with v1.variable_scope(scope, "Flatten") as entered:
        array = on_device(inputs)
        return collect_named_outputs(
            outputs_collections, entered.name, array.reshape(array.shape[0], -1 if array.size else 0)
        )


@layer_in_scope
def bias_add(
    inputs: TensorLike,
    activation_fn: _Function | None = None,
    initializer: object = ZEROS,
    regularizer: _Function | None = None,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: object = None,
) -> Any:
    """Add a bias for each channel, as `tf.contrib.layers.bias_add`; arguments as in `fully_connected`."""
    array = on_device(inputs)
    axis = 1 if is_channels_first(data_format) and array.ndim > 2 else array.ndim - 1
    shape = [1] * array.ndim
    shape[axis] = array.shape[axis]
    with enter(scope, "BiasAdd", reuse) as entered:
        biases = v1.get_variable(
            "biases",
            (array.shape[axis],),
            dtype=array.dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        collect_variables({"biases": biases}, variables_collections)
        outputs = array + on_device(biases).reshape(shape)
        return finish(outputs, entered, activation_fn, outputs_collections)


@layer_in_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: object = None,
) -> Any:
    """Return one row for each label, with `on_value` at its place, as `tf.contrib.layers.one_hot_encoding`."""
    with v1.variable_scope(scope, "OneHotEncoding") as entered:
        hot = jax.nn.one_hot(on_device(labels), num_classes)
        return collect_named_outputs(
            outputs_collections, entered.name, hot * (on_value - off_value) + off_value
        )


@layer_in_scope
def softmax(logits: TensorLike, scope: object = None) -> Any:
    """Return the softmax of the last dimension, as `tf.contrib.layers.softmax`."""
    with v1.variable_scope(scope, "softmax"):
        return jax.nn.softmax(on_device(logits))


@layer_in_scope
def unit_norm(inputs: TensorLike, dim: int, epsilon: float = 1e-7, scope: object = None) -> Any:
    """Divide by the length along a dimension, as `tf.contrib.layers.unit_norm`."""
    with v1.variable_scope(scope, "UnitNorm"):
        array = on_device(inputs)
        return array / jnp.sqrt(epsilon + jnp.sum(jnp.square(array), dim, keepdims=True))


@layer_in_scope
def maxout(inputs: TensorLike, num_units: int, axis: int = -1, scope: object = None) -> Any:
    """Return the largest of each group of features, as `tf.contrib.layers.maxout`.

    Args:
        inputs: A tensor.
        num_units: How many groups the features form.
        axis: Their dimension.
        scope: A name.

    Raises:
        BadArgumentError: If they don't divide.
    """
    array = on_device(inputs)
    axis %= array.ndim
    if array.shape[axis] % num_units:
        raise errors.BadArgumentError(
            f"number of features({array.shape[axis]}) is not a multiple of num_units({num_units})."
        )
    groups = array.reshape(*array.shape[:axis], num_units, -1, *array.shape[axis + 1 :])
    with v1.variable_scope(scope, "MaxOut"):
        return jnp.max(groups, axis + 1)


def repeat(inputs: TensorLike, repetitions: int, layer: _Function, *args: object, **kwargs: object) -> Any:
    """Call a layer again and again on what it gives, as `tf.contrib.layers.repeat`.

    Args:
        inputs: A tensor.
        repetitions: How often.
        layer: A function that takes `scope`.
        *args: Its other arguments.
        **kwargs: Likewise; `scope` names the variable scope, in which each layer's has its number.
    """
    scope = kwargs.pop("scope", None)
    with v1.variable_scope(scope, "Repeat"):
        name = scope if isinstance(scope, str) else _name_of(layer)
        for number in range(1, repetitions + 1):
            inputs = layer(inputs, *args, **kwargs, scope=f"{name}_{number}")
        return inputs


def stack(inputs: TensorLike, layer: _Function, stack_args: Sequence[Any], **kwargs: object) -> Any:
    """Call a layer with one after another of its arguments, as `tf.contrib.layers.stack`.

    Args:
        inputs: A tensor.
        layer: A function that takes `scope`.
        stack_args: For each call the argument behind the inputs, or a list of them.
        **kwargs: The others; `scope` names the variable scope, in which each layer's has its number.
    """
    scope = kwargs.pop("scope", None)
    with v1.variable_scope(scope, "Stack"):
        name = scope if isinstance(scope, str) else _name_of(layer)
        for number, given in enumerate(stack_args, 1):
            own = given if isinstance(given, list | tuple) else [given]
            inputs = layer(inputs, *own, **kwargs, scope=f"{name}_{number}")
        return inputs


def _name_of(layer: _Function) -> str:
    function = getattr(layer, "func", layer)
    return getattr(function, "__name__", "stack")


@layer_in_scope
def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: object = None,
    regularizer: _Function | None = None,
    trainable: bool = True,
    scope: object = None,
    reuse: object = None,
) -> Any:
    """Return a row of a variable for each number, as `tf.contrib.layers.embed_sequence`.

    Args:
        ids: Integers, shape `(batch, length)`.
        vocab_size: The rows of the variable.
        embed_dim: Their length.
        unique: Ignored: the result is the same.
        initializer: Gives the first value.
        regularizer: Gives a loss of it.
        trainable: Whether optimizers see it.
        scope: The variable scope, or its name.
        reuse: Whether the variable must be there already.

    Returns:
        A tensor, shape `(batch, length, embed_dim)`.

    Raises:
        BadArgumentError: If a size is missing where nothing is shared.
    """
    with v1.variable_scope(scope, "EmbedSequence", reuse=reuse):
        return v1.nn.embedding_lookup(
            _embeddings(vocab_size, embed_dim, initializer, regularizer, trainable, reuse), ids
        )


def _embeddings(
    vocab_size: int | None,
    embed_dim: int | None,
    initializer: object,
    regularizer: _Function | None,
    trainable: bool,
    reuse: object,
) -> Any:
    if not (reuse or (vocab_size and embed_dim)):
        raise errors.BadArgumentError(
            "Must specify vocab size and embedding dimension when not reusing. Received: "
            f"vocab_size={shown(vocab_size)}, embed_dim={shown(embed_dim)}."
        )
    made = v1.get_variable(
        "embeddings",
        (vocab_size, embed_dim) if vocab_size and embed_dim else None,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
    )
    collect_variables({"embeddings": made}, None)
    return made


@layer_in_scope
def bow_encoder(
    ids: TensorLike,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: object = None,
    regularizer: _Function | None = None,
    trainable: bool = True,
    scope: object = None,
    reuse: object = None,
) -> Any:
    """Return the mean of the rows of each example's numbers, as `tf.contrib.layers.bow_encoder`.

    Args:
        ids: Integers, shape `(batch, length)`.
        vocab_size: As in `embed_sequence`.
        embed_dim: Likewise.
        sparse_lookup: Whether zeros stand for none.
        initializer: As in `embed_sequence`.
        regularizer: Likewise.
        trainable: Likewise.
        scope: Likewise.
        reuse: Likewise.
    """
    with v1.variable_scope(scope, "bow_encoder", reuse=reuse):
        table = _embeddings(vocab_size, embed_dim, initializer, regularizer, trainable, reuse)
        rows = v1.nn.embedding_lookup(table, ids)
        if not sparse_lookup:
            return jnp.mean(rows, 1)
        there = (on_device(ids) != 0)[..., None]
        count = jnp.sum(there, 1)
        # A row of none at all is that of 0.
        return jnp.where(count > 0, jnp.sum(rows * there, 1) / jnp.maximum(count, 1), on_device(table)[0])
