"""A residual network for small images, 20 layers or 50: an Estimator's model_fn, with TensorFlow 1's layers."""

import sys
import tempfile

import numpy as np
import tensorflow as tf
from _turns import Turns

v1 = tf.compat.v1
CLASSES = 10
DECAY = 1e-4
# Of each kind: pixels, batch, channels of the first layer, stages of (channels, blocks), whether these are bottlenecks.
KINDS = {
    "20": (32, 64, 16, [(16, 3), (32, 3), (64, 3)], False),
    "50": (64, 16, 64, [(64, 3), (128, 4), (256, 6), (512, 3)], True),
}


def convolve(x, filters, size, strides):
    """Add a convolution without bias."""
    return v1.layers.conv2d(
        x,
        filters,
        size,
        strides,
        padding="same",
        use_bias=False,
        kernel_initializer=v1.variance_scaling_initializer(),
    )


def normalize(x, training):
    """Normalize."""
    return v1.layers.batch_normalization(x, momentum=0.997, epsilon=1e-5, training=training, fused=True)


def block(x, filters, strides, is_bottleneck, training):
    """Add a residual block."""
    out = 4 * filters if is_bottleneck else filters
    shortcut = x
    if strides > 1 or x.shape.as_list()[-1] != out:
        shortcut = normalize(convolve(x, out, 1, strides), training)
    sizes = [(filters, 1, 1), (filters, 3, strides), (out, 1, 1)]
    if not is_bottleneck:
        sizes = [(filters, 3, strides), (filters, 3, 1)]
    for number, size in enumerate(sizes):
        x = normalize(convolve(x, *size), training)
        if number < len(sizes) - 1:
            x = tf.nn.relu(x)
    return tf.nn.relu(x + shortcut)


def network(x, kind, training):
    """Compute the logits."""
    _, _, first, stages, is_bottleneck = KINDS[kind]
    x = tf.nn.relu(
        normalize(convolve(x, first, 7 if is_bottleneck else 3, 2 if is_bottleneck else 1), training)
    )
    if is_bottleneck:
        x = v1.layers.max_pooling2d(x, 3, 2, padding="same")
    for stage, (filters, blocks) in enumerate(stages):
        for number in range(blocks):
            x = block(x, filters, 2 if stage and not number else 1, is_bottleneck, training)
    return v1.layers.dense(tf.reduce_mean(x, [1, 2]), CLASSES)


def model_fn(features, labels, mode, params):
    """Make the model of one mode."""
    logits = network(features, params["kind"], mode == tf.estimator.ModeKeys.TRAIN)
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    loss += DECAY * tf.add_n(
        [tf.nn.l2_loss(v) for v in v1.trainable_variables() if "batch_normalization" not in v.name]
    )
    step = v1.train.get_or_create_global_step()
    rate = v1.train.piecewise_constant(step, [1000, 2000], [0.1, 0.01, 0.001])
    optimizer = v1.train.MomentumOptimizer(rate, 0.9)
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(params):
    """Read batches without end."""
    pixels, batch, *_ = KINDS[params["kind"]]
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (16 * batch, pixels, pixels, 3), np.uint8)
    labels = random.integers(0, CLASSES, 16 * batch, np.int32)

    def prepare(image, label):
        image = tf.image.random_flip_left_right(tf.cast(image, tf.float32))
        return tf.image.per_image_standardization(image), label

    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(16 * batch).repeat()
    return data.map(prepare, num_parallel_calls=2).batch(batch, drop_remainder=True).prefetch(1)


def main(kind):
    """Train by turns."""
    v1.logging.set_verbosity(v1.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        config = tf.estimator.RunConfig(folder, save_checkpoints_steps=10**9)
        estimator = tf.estimator.Estimator(model_fn, config=config, params={"kind": kind})
        estimator.train(input_fn, max_steps=10**9, hooks=[Turns()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
