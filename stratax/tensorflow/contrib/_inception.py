"""`tf.contrib.slim.nets.inception`: Inception V3 (Szegedy et al., 2015), with slim's layers and names."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._arg_scope import arg_scope
from stratax.tensorflow.contrib._layers import convolution2d, fully_connected
from stratax.tensorflow.contrib._made import variance_scaling_initializer
from stratax.tensorflow.contrib._normalizations import batch_norm
from stratax.tensorflow.contrib._other_layers import avg_pool2d, dropout, max_pool2d, softmax
from stratax.tensorflow.ops.nn import nn

# A layer's name, which says its kernel, and the width of a convolution; or two that begin with the same and end side
# by side. A layer `_1a_` halves the image.
_Layer: TypeAlias = str | tuple[str, str]
_Branches: TypeAlias = list[list[_Layer]]

_STEM = [
    ("Conv2d_1a_3x3 32", "VALID"),
    ("Conv2d_2a_3x3 32", "VALID"),
    ("Conv2d_2b_3x3 64", "SAME"),
    ("MaxPool_3a_3x3", "VALID"),
    ("Conv2d_3b_1x1 80", "VALID"),
    ("Conv2d_4a_3x3 192", "VALID"),
    ("MaxPool_5a_3x3", "VALID"),
]


def _of_35(pooled: int, first: str = "Conv2d_0a_1x1", second: str = "Conv2d_0b_5x5") -> _Branches:
    return [
        ["Conv2d_0a_1x1 64"],
        [f"{first} 48", f"{second} 64"],
        ["Conv2d_0a_1x1 64", "Conv2d_0b_3x3 96", "Conv2d_0c_3x3 96"],
        ["AvgPool_0a_3x3", f"Conv2d_0b_1x1 {pooled}"],
    ]


def _of_17(width: int) -> _Branches:
    return [
        ["Conv2d_0a_1x1 192"],
        [f"Conv2d_0a_1x1 {width}", f"Conv2d_0b_1x7 {width}", "Conv2d_0c_7x1 192"],
        [
            f"Conv2d_0a_1x1 {width}",
            f"Conv2d_0b_7x1 {width}",
            f"Conv2d_0c_1x7 {width}",
            f"Conv2d_0d_7x1 {width}",
            "Conv2d_0e_1x7 192",
        ],
        ["AvgPool_0a_3x3", "Conv2d_0b_1x1 192"],
    ]


def _of_8(last: str) -> _Branches:
    return [
        ["Conv2d_0a_1x1 320"],
        ["Conv2d_0a_1x1 384", ("Conv2d_0b_1x3 384", f"{last} 384")],
        ["Conv2d_0a_1x1 448", "Conv2d_0b_3x3 384", ("Conv2d_0c_1x3 384", "Conv2d_0d_3x1 384")],
        ["AvgPool_0a_3x3", "Conv2d_0b_1x1 192"],
    ]


_BLOCKS: Mapping[str, _Branches] = {
    "Mixed_5b": _of_35(32),
    # The names of checkpoints, as they are.
    "Mixed_5c": _of_35(64, "Conv2d_0b_1x1", "Conv_1_0c_5x5"),
    "Mixed_5d": _of_35(64),
    "Mixed_6a": [
        ["Conv2d_1a_1x1 384"],
        ["Conv2d_0a_1x1 64", "Conv2d_0b_3x3 96", "Conv2d_1a_1x1 96"],
        ["MaxPool_1a_3x3"],
    ],
    "Mixed_6b": _of_17(128),
    "Mixed_6c": _of_17(160),
    "Mixed_6d": _of_17(160),
    "Mixed_6e": _of_17(192),
    "Mixed_7a": [
        ["Conv2d_0a_1x1 192", "Conv2d_1a_3x3 320"],
        ["Conv2d_0a_1x1 192", "Conv2d_0b_1x7 192", "Conv2d_0c_7x1 192", "Conv2d_1a_3x3 192"],
        ["MaxPool_1a_3x3"],
    ],
    "Mixed_7b": _of_8("Conv2d_0b_3x1"),
    "Mixed_7c": _of_8("Conv2d_0c_3x1"),
}


def _depths(depth_multiplier: float, min_depth: int) -> Callable[[int], int]:
    if depth_multiplier <= 0:
        raise errors.BadArgumentError(
            f"depth_multiplier is not greater than zero. Received: {shown(depth_multiplier)}."
        )
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def _layer(net: object, layer: _Layer, depth: Callable[[int], int]) -> Any:
    if isinstance(layer, tuple):
        return jnp.concatenate([_layer(net, each, depth) for each in layer], 3)
    name, *width = layer.split()
    is_halved = "_1a_" in name
    kernel = [3, 3] if is_halved else [int(size) for size in name.rsplit("_", 1)[1].split("x")]
    options = {"stride": 2, "padding": "VALID"} if is_halved else {}
    if width:
        return convolution2d(net, depth(int(width[0])), kernel, scope=name, **options)
    return (avg_pool2d if name.startswith("Avg") else max_pool2d)(net, kernel, scope=name, **options)


def inception_v3_base(
    inputs: object,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: object = None,
) -> tuple[Any, dict[str, Any]]:
    """Return Inception V3 up to a layer, and all layers up to it by name.

    Args:
        inputs: Images, shape `(batch, height, width, 3)`.
        final_endpoint: The layer's name.
        min_depth: The least width of a layer.
        depth_multiplier: The layers' widths are multiplied by this.
        scope: The variable scope, or its name; by default `"InceptionV3"`.

    Raises:
        BadArgumentError: If there is no such layer, or the multiplier is not above 0.
    """
    depth = _depths(depth_multiplier, min_depth)
    end_points: dict[str, Any] = {}
    net = inputs
    layers = [convolution2d, max_pool2d, avg_pool2d]
    with v1.variable_scope(scope, "InceptionV3", [inputs]):
        for layer, padding in _STEM:
            name = layer.split()[0]
            stride = 2 if name.startswith("MaxPool") else 1
            with arg_scope(layers, stride=stride, padding=padding):
                net = end_points[name] = _layer(net, layer, depth)
            if name == final_endpoint:
                return net, end_points
        for name, branches in _BLOCKS.items():
            with arg_scope(layers, stride=1, padding="SAME"), v1.variable_scope(name):
                net = end_points[name] = _block(net, branches, depth)
            if name == final_endpoint:
                return net, end_points
    raise errors.BadArgumentError(
        f"Unknown final endpoint {final_endpoint}. Expected: one of {', '.join(end_points)}."
    )


def _block(net: Any, branches: _Branches, depth: Callable[[int], int]) -> Any:
    found = []
    for number, branch in enumerate(branches):
        with v1.variable_scope(f"Branch_{number}"):
            made = net
            for layer in branch:
                made = _layer(made, layer, depth)
        found.append(made)
    return jnp.concatenate(found, 3)


def inception_v3(
    inputs: object,
    num_classes: int = 1000,
    is_training: object = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: object = None,
    scope: object = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits of Inception V3, and all layers by name, as `tf.contrib.slim.nets.inception.inception_v3`.

    Args:
        inputs: Images, shape `(batch, height, width, 3)`.
        num_classes: How many classes there are.
        is_training: Whether it trains.
        dropout_keep_prob: The chance that an element of the last layer stays.
        min_depth: The least width of a layer.
        depth_multiplier: The layers' widths are multiplied by this.
        prediction_fn: Makes predictions of logits.
        spatial_squeeze: Whether logits are of shape `(batch, num_classes)`.
        reuse: Whether the variables must be there already.
        scope: The variable scope, or its name.

    Raises:
        BadArgumentError: If the multiplier is not above 0.
    """
    depth = _depths(depth_multiplier, min_depth)
    linear: dict[str, Any] = {"activation_fn": None, "normalizer_fn": None}
    with (
        v1.variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as entered,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=entered
        )
        layers = [convolution2d, max_pool2d, avg_pool2d]
        with arg_scope(layers, stride=1, padding="SAME"), v1.variable_scope("AuxLogits"):
            aux = avg_pool2d(
                end_points["Mixed_6e"], [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5"
            )
            aux = convolution2d(aux, depth(128), [1, 1], scope="Conv2d_1b_1x1")
            kernel = _within(aux, 5)
            aux = convolution2d(
                aux,
                depth(768),
                kernel,
                padding="VALID",
                weights_initializer=v1.truncated_normal_initializer(0.0, 0.01),
                scope=f"Conv2d_2a_{kernel[0]}x{kernel[1]}",
            )
            aux = convolution2d(
                aux,
                num_classes,
                [1, 1],
                weights_initializer=v1.truncated_normal_initializer(0.0, 0.001),
                scope="Conv2d_2b_1x1",
                **linear,
            )
            end_points["AuxLogits"] = jnp.squeeze(aux, (1, 2)) if spatial_squeeze else aux
        with v1.variable_scope("Logits"):
            kernel = _within(net, 8)
            net = avg_pool2d(net, kernel, padding="VALID", scope=f"AvgPool_1a_{kernel[0]}x{kernel[1]}")
            net = dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            end_points["PreLogits"] = net
            logits = convolution2d(net, num_classes, [1, 1], scope="Conv2d_1c_1x1", **linear)
            logits = jnp.squeeze(logits, (1, 2)) if spatial_squeeze else logits
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299  # type: ignore[attr-defined]


def _within(net: Any, size: int) -> list[int]:
    """Return the sizes of a kernel, which is no larger than the image."""
    return [min(net.shape[1], size), min(net.shape[2], size)]


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: object = "update_ops",
    use_fused_batchnorm: bool = True,
) -> Any:
    """Return the argument scope of Inception V3: regularized weights, and normalizations.

    Args:
        weight_decay: The weight of the squares of weights in the loss.
        batch_norm_var_collection: The collection of moving statistics.
        batch_norm_decay: Their decay.
        batch_norm_epsilon: Added to variances.
        updates_collections: The collections of what updates them.
        use_fused_batchnorm: As for `tf.contrib.layers.batch_norm`.
    """
    moving = [batch_norm_var_collection]
    normalized = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "fused": use_fused_batchnorm,
        "variables_collections": {
            "beta": None,
            "gamma": None,
            "moving_mean": moving,
            "moving_variance": moving,
        },
    }
    regularizer = v1.contrib_layers.l2_regularizer(weight_decay)
    with (
        arg_scope([convolution2d, fully_connected], weights_regularizer=regularizer),
        arg_scope(
            [convolution2d],
            weights_initializer=variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=batch_norm,
            normalizer_params=normalized,
        ) as scope,
    ):
        return scope
