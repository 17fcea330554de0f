"""Operations of layers and images: convolutions, pools, norms, losses, resizing (saved_models layer)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import image
from stratax.tensorflow.ops.nn import convolutions, nn, normalization, pooling
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import OperationContext, Value, as_numbers, define, plain


def _padding(node: FileNode) -> Any:
    padding = node.text("padding")
    if padding != "EXPLICIT":
        return padding
    pairs = node.get("explicit_paddings", [])
    return [pairs[index : index + 2] for index in range(0, len(pairs), 2)]


def _settings(node: FileNode, default: str) -> dict[str, Any]:
    return {
        "strides": node["strides"],
        "padding": _padding(node),
        "data_format": node.text("data_format", default),
        "dilations": node.get("dilations"),
    }


define(
    "Conv2D",
    lambda run, node, x, kernel: convolutions.conv2d(x, kernel, **_settings(node, "NHWC")),
    heavy=True,
)
define(
    "Conv3D",
    lambda run, node, x, kernel: convolutions.conv3d(x, kernel, **_settings(node, "NDHWC")),
    heavy=True,
)
define(
    "DepthwiseConv2dNative",
    lambda run, node, x, kernel: convolutions.depthwise_conv2d(x, kernel, **_settings(node, "NHWC")),
    heavy=True,
)


def _convolve_back(run: OperationContext, node: FileNode, sizes: Value, kernel: Value, x: Value) -> Any:
    given = _settings(node, "NHWC" if np.ndim(x) == 4 else "NDHWC")
    return convolutions.conv_transpose(x, kernel, as_numbers(sizes), **given)


define("Conv2DBackpropInput Conv3DBackpropInputV2", _convolve_back, heavy=True, static=(0,))


def _pool(function: Value, default: str) -> Any:
    def call(run: OperationContext, node: FileNode, x: Value) -> Any:
        layout = node.text("data_format", default)
        return function(x, node["ksize"], node["strides"], _padding(node), layout)

    return call


define("MaxPool", _pool(pooling.max_pool, "NHWC"))
define("AvgPool", _pool(pooling.avg_pool, "NHWC"))
define("MaxPool3D", _pool(pooling.max_pool, "NDHWC"))
define("AvgPool3D", _pool(pooling.avg_pool, "NDHWC"))
define(
    "MaxPoolV2",
    lambda run, node, x, size, strides: pooling.max_pool(
        x, as_numbers(size), as_numbers(strides), node.text("padding"), node.text("data_format", "NHWC")
    ),
    static=(1, 2),
)
define(
    "BiasAdd",
    lambda run, node, x, bias: normalization.bias_add(x, bias, node.text("data_format", "NHWC")),
)
plain("BiasAddV1", lambda x, bias: normalization.bias_add(x, bias))
define(
    "LRN",
    lambda run, node, x: normalization.local_response_normalization(
        x, node.get("depth_radius", 5), node.get("bias", 1.0), node.get("alpha", 1.0), node.get("beta", 0.5)
    ),
)


def _batch_norm(
    run: OperationContext, node: FileNode, x: Value, scale: Value, offset: Value, mean: Value, variance: Value
) -> Any:
    made = normalization.fused_batch_norm(
        x,
        scale,
        offset,
        # While training without an average these are empty.
        mean if np.size(mean) else None,
        variance if np.size(variance) else None,
        node.get("epsilon", 1e-4),
        node.text("data_format", "NHWC"),
        node.get("is_training", True),
        node.get("exponential_avg_factor", 1.0),
    )
    # What gradients would reuse is the same again.
    return (*made, made[1], made[2], made[2])


define(
    "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3",
    _batch_norm,
    outputs="y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3",
)
plain(
    "SoftmaxCrossEntropyWithLogits",
    lambda logits, labels: (
        nn.softmax_cross_entropy_with_logits(labels, logits),
        nn.softmax(logits) - labels,
    ),
    outputs="loss backprop",
)


def _sparse_cross_entropy(logits: Value, labels: Value) -> tuple[Any, Any]:
    loss = nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return loss, nn.softmax(logits) - jax.nn.one_hot(labels, np.shape(logits)[-1], dtype=logits.dtype)


plain("SparseSoftmaxCrossEntropyWithLogits", _sparse_cross_entropy, outputs="loss backprop")
plain("InTopKV2", lambda predictions, targets, k: nn.in_top_k(targets, predictions, int(k)), static=(2,))
define("InTopK", lambda run, node, predictions, targets: nn.in_top_k(targets, predictions, node["k"]))
for _name, _function in {
    "ResizeBilinear": image.resize_bilinear,
    "ResizeBicubic": image.resize_bicubic,
    "ResizeNearestNeighbor": image.resize_nearest_neighbor,
}.items():
    define(
        _name,
        lambda run, node, x, size, function=_function: function(
            x,
            as_numbers(size),
            align_corners=node.get("align_corners", False),
            half_pixel_centers=node.get("half_pixel_centers", False),
        ),
        static=(1,),
    )
define(
    "ResizeArea",
    lambda run, node, x, size: image.resize_area(x, as_numbers(size), node.get("align_corners", False)),
    static=(1,),
)
define(
    "CropAndResize",
    lambda run, node, x, boxes, indices, size: image.crop_and_resize(
        x,
        boxes,
        indices,
        as_numbers(size),
        node.text("method", "bilinear"),
        node.get("extrapolation_value", 0.0),
    ),
    static=(3,),
)
define(
    "ExtractImagePatches",
    lambda run, node, x: image.extract_patches(
        x, node["ksizes"], node["strides"], node["rates"], node.text("padding")
    ),
)
plain("AdjustContrastv2", image.adjust_contrast)
plain("AdjustSaturation", image.adjust_saturation)
plain("AdjustHue", image.adjust_hue)
plain("RGBToHSV", image.rgb_to_hsv)
plain("HSVToRGB", image.hsv_to_rgb)


def _project(
    run: OperationContext, node: FileNode, images: Value, transforms: Value, size: Value, fill: Value = 0.0
) -> Any:
    """Look each pixel of the result up where a projection says, as Keras' layers turn and zoom images."""
    rows, columns = as_numbers(size)
    x, y = jnp.meshgrid(jnp.arange(columns, dtype=jnp.float32), jnp.arange(rows, dtype=jnp.float32))
    t = jnp.asarray(transforms)[:, :, None, None]
    below = t[:, 6] * x + t[:, 7] * y + 1.0
    from_x = (t[:, 0] * x + t[:, 1] * y + t[:, 2]) / below
    from_y = (t[:, 3] * x + t[:, 4] * y + t[:, 5]) / below
    height, width = images.shape[1:3]
    mode = node.text("fill_mode", "CONSTANT")
    from_x, from_y = _inside(from_x, width, mode), _inside(from_y, height, mode)
    batch = jnp.arange(images.shape[0])[:, None, None]

    def pixels(row: Value, column: Value) -> Any:
        row, column = row.astype(jnp.int32), column.astype(jnp.int32)
        taken = images[batch, jnp.clip(row, 0, height - 1), jnp.clip(column, 0, width - 1)]
        is_there = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        return jnp.where(is_there[..., None], taken, fill)

    if node.text("interpolation").upper() == "NEAREST":
        return pixels(jnp.round(from_y), jnp.round(from_x)).astype(images.dtype)
    top, left = jnp.floor(from_y), jnp.floor(from_x)
    down, right = (from_y - top)[..., None], (from_x - left)[..., None]
    upper = (1 - right) * pixels(top, left) + right * pixels(top, left + 1)
    lower = (1 - right) * pixels(top + 1, left) + right * pixels(top + 1, left + 1)
    return ((1 - down) * upper + down * lower).astype(images.dtype)


def _inside(place: Value, size: int, mode: str) -> Any:
    """Return where a place outside of an image is taken from."""
    if mode == "REFLECT":
        place = jnp.abs(jnp.mod(place + 0.5, 2 * size) - 0.5)
        place = jnp.where(place > size - 0.5, 2 * size - 1 - place, place)
        return jnp.clip(place, 0, size - 1)
    if mode == "WRAP":
        return jnp.mod(place, size) if size > 1 else jnp.zeros_like(place)
    return jnp.clip(place, 0, size - 1) if mode == "NEAREST" else place


define("ImageProjectiveTransformV2 ImageProjectiveTransformV3", _project, static=(2,))
