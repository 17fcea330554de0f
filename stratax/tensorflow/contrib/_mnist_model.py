"""`tensorflow.examples.tutorials.mnist.mnist`: the network of the tutorial on digits (contrib layer)."""

import math
from typing import Any

from stratax.base.typing import TensorLike
from stratax.core import Variable
from stratax.tensorflow import v1
from stratax.tensorflow.ops.arrays.arrays import cast
from stratax.tensorflow.ops.calls.creation import zeros
from stratax.tensorflow.ops.math.linalg import matmul
from stratax.tensorflow.ops.math.reductions import reduce_sum
from stratax.tensorflow.ops.nn import nn
from stratax.tensorflow.ops.random.random import truncated_normal
from stratax.tensorflow.v1 import losses, summary, train
from stratax.tensorflow.v1.nn import in_top_k

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: TensorLike, hidden1_units: int, hidden2_units: int) -> Any:
    """Return the logits of digits.

    Args:
        images: Shape `(batch, IMAGE_PIXELS)`.
        hidden1_units: The size of the first hidden layer.
        hidden2_units: That of the second.
    """
    sizes = [IMAGE_PIXELS, hidden1_units, hidden2_units, NUM_CLASSES]
    outputs: Any = images
    for number, name in enumerate(("hidden1", "hidden2", "softmax_linear")):
        given, units = sizes[number : number + 2]
        with v1.name_scope(name):
            weights = Variable(truncated_normal([given, units], stddev=1 / math.sqrt(given)), name="weights")
            biases = Variable(zeros([units]), name="biases")
            outputs = matmul(outputs, weights) + biases
            if number < 2:
                outputs = nn.relu(outputs)
    return outputs


def loss(logits: TensorLike, labels: TensorLike) -> Any:
    """Return the mean cross entropy.

    Args:
        logits: Shape `(batch, NUM_CLASSES)`.
        labels: Digits, shape `(batch,)`.
    """
    return losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)


def training(loss: TensorLike, learning_rate: float) -> Any:
    """Return the operation that trains by a step down the slope, and notes the loss.

    Args:
        loss: The loss.
        learning_rate: The size of steps.
    """
    summary.scalar("loss", loss)
    step = Variable(0, name="global_step", trainable=False)
    return train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=step)


def evaluation(logits: TensorLike, labels: TensorLike) -> Any:
    """Return how many digits are recognized.

    Args:
        logits: Shape `(batch, NUM_CLASSES)`.
        labels: Digits, shape `(batch,)`.
    """
    return reduce_sum(cast(in_top_k(logits, labels, 1), "int32"))
