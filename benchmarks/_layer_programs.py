"""Keras' common layers as programs that both sides run: `tf` is `tensorflow` on one and `stratax.tf` on the other."""

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

BATCH = 64
_WORDS = 10_000


def _layers() -> dict[str, dict[str, tuple[Any, ...]]]:
    """By group and name: what makes the layer, and the shape of one of its inputs."""
    make = keras.layers
    relu = functools.partial(make.Activation, "relu")
    images, texts = (28, 28, 32), (64, 128)
    return {
        "conv": {
            "conv1d": (lambda: make.Conv1D(64, 3), (128, 64)),
            "conv1d_same": (lambda: make.Conv1D(64, 3, padding="same"), (128, 64)),
            "conv1d_causal": (lambda: make.Conv1D(64, 3, padding="causal", dilation_rate=2), (128, 64)),
            "conv2d": (lambda: make.Conv2D(32, 3), images),
            "conv2d_same": (lambda: make.Conv2D(32, 3, padding="same"), images),
            "conv2d_of_1": (lambda: make.Conv2D(32, 3), (28, 28, 1)),
            "conv2d_of_3": (lambda: make.Conv2D(32, 7, 2, padding="same"), (64, 64, 3)),
            "conv2d_strided": (lambda: make.Conv2D(64, 3, 2, padding="same"), images),
            "conv2d_1x1": (lambda: make.Conv2D(64, 1), images),
            "conv2d_dilated": (lambda: make.Conv2D(32, 3, dilation_rate=2), images),
            "conv2d_bfloat16": (lambda: make.Conv2D(32, 3, dtype="mixed_bfloat16"), images),
            "conv2d_transpose": (lambda: make.Conv2DTranspose(16, 3, 2, padding="same"), (14, 14, 32)),
        },
        "depthwise": {
            "depthwise": (lambda: make.DepthwiseConv2D(3), images),
            "depthwise_same": (lambda: make.DepthwiseConv2D(3, padding="same"), images),
            "depthwise_strided": (lambda: make.DepthwiseConv2D(3, 2, padding="same"), images),
            "depthwise_twice": (lambda: make.DepthwiseConv2D(3, depth_multiplier=2), images),
            "depthwise_1d": (lambda: make.DepthwiseConv1D(5, padding="same"), (128, 64)),
            "separable": (lambda: make.SeparableConv2D(64, 3, padding="same"), images),
            "separable_1d": (lambda: make.SeparableConv1D(64, 3, padding="same"), (128, 64)),
            "grouped": (lambda: make.Conv2D(32, 3, groups=4, padding="same"), images),
        },
        "conv3d": {
            "conv3d": (lambda: make.Conv3D(16, 3), (8, 16, 16, 8)),
            "conv3d_same": (lambda: make.Conv3D(16, 3, padding="same"), (8, 16, 16, 8)),
        },
        "pool": {
            "max": (lambda: make.MaxPooling2D(2), images),
            "max_overlapping": (lambda: make.MaxPooling2D(3, 2, padding="same"), images),
            "average": (lambda: make.AveragePooling2D(2), images),
            "average_overlapping": (lambda: make.AveragePooling2D(3, 2, padding="same"), images),
            "max_1d": (lambda: make.MaxPooling1D(2), (128, 64)),
            "global_average": (make.GlobalAveragePooling2D, images),
            "global_max": (make.GlobalMaxPooling2D, images),
            "upsampling": (lambda: make.UpSampling2D(2), (14, 14, 32)),
        },
        "norm": {
            "batch": (make.BatchNormalization, images),
            "layer": (make.LayerNormalization, texts),
            "group": (lambda: make.GroupNormalization(8), images),
            "softmax": (make.Softmax, (1000,)),
            "softmax_long": (make.Softmax, (4, 64, 64)),
            "relu": (relu, images),
            "gelu": (lambda: make.Activation("gelu"), texts),
            "tanh": (lambda: make.Activation("tanh"), texts),
            "dropout": (lambda: make.Dropout(0.5), texts),
        },
        "dense": {
            "small": (lambda: make.Dense(10), (128,)),
            "middle": (lambda: make.Dense(128, "relu"), (784,)),
            "large": (lambda: make.Dense(2048), (1024,)),
            "of_texts": (lambda: make.Dense(256, "relu"), texts),
            "bfloat16": (lambda: make.Dense(1024, dtype="mixed_bfloat16"), (1024,)),
            "einsum": (lambda: make.EinsumDense("abc,cde->abde", (64, 4, 32), bias_axes="de"), texts),
            "embedding": (lambda: make.Embedding(_WORDS, 64), (64, "words")),
            "attention": (_attention, texts),
        },
        "recurrent": {
            "lstm": (lambda: make.LSTM(64), (32, 64)),
            "gru": (lambda: make.GRU(64), (32, 64)),
            "simple": (lambda: make.SimpleRNN(64), (32, 64)),
        },
    }


def _attention() -> Any:
    inner = keras.layers.MultiHeadAttention(4, 32)
    x = keras.layers.Input((64, 128))
    return keras.Model(x, inner(x, x))


def runs(tf: Any, group: str) -> dict[str, Callable[[], Any]]:
    """The programs of a group, by layer and direction: `conv2d_forward`, `conv2d_backward`.

    Args:
        tf: `tensorflow` or `stratax.tf`.
        group: The group.

    Returns:
        Functions that start one call on all devices and return what it computes. Backward is a forward pass with the
        gradients of the inputs and the weights.
    """
    strategy = tf.distribute.MirroredStrategy()
    found = {}
    for name, (make, shape) in _layers()[group].items():
        forward, backward = _programs(tf, strategy, make, shape)
        found[f"{name}_forward"], found[f"{name}_backward"] = forward, backward
    return found


def _programs(tf: Any, strategy: Any, make: Callable[[], Any], shape: tuple[Any, ...]) -> Any:
    random = np.random.default_rng(0)
    has_words = shape[-1] == "words"
    if has_words:
        x = random.integers(0, _WORDS, (BATCH, *shape[:-1]), np.int32)
    else:
        x = random.standard_normal((BATCH, *shape), np.float32)
    keras.utils.set_random_seed(1)
    with strategy.scope():
        layer = make()
        layer.build(x.shape)
        weights = list(layer.trainable_variables)
    kept = layer.compute_output_shape(x.shape)
    towards = random.standard_normal(tuple(kept), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, towards)).batch(BATCH)
    (batch,) = strategy.experimental_distribute_dataset(dataset)

    def forward(x: Any, towards: Any) -> Any:
        return layer(x, training=True)

    def backward(x: Any, towards: Any) -> Any:
        watched = [] if has_words else [x]
        with tf.GradientTape() as tape:
            for value in watched:
                tape.watch(value)
            y = keras.ops.cast(layer(x, training=True), "float32")
            loss = tf.reduce_sum(y * towards)
        gradients = tape.gradient(loss, [*watched, *weights])
        return [tf.convert_to_tensor(gradient) for gradient in gradients]

    def on_all(function: Callable[..., Any]) -> Callable[[], Any]:
        compiled = tf.function(lambda batch: strategy.run(function, args=batch))
        return lambda: compiled(batch)

    return on_all(forward), on_all(backward)
