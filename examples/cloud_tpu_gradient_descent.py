"""Gradient descent on one core of a TPU, from the article on Cloud TPU at CUBE SUGAR CONTAINER.

Run it with: python examples/cloud_tpu_gradient_descent.py --strategy tpu --simulate tpu:8
"""

# The lines are those of the original, so its layout and style stay: see docs/programs/.
# fmt: off
# ruff: noqa: D415, I001
from __future__ import annotations

from pprint import pprint

import stratax.tf as tf

import command_line

options = command_line.parse(__doc__, strategy='tpu')


def objective(params: tf.Variable) -> tf.Tensor:
    """What is to become small"""
    # x_0^2 + x_1^2
    loss = params[0] ** 2 + params[1] ** 2
    return loss


def main():
    # Connect to the TPU
    if options.strategy == 'tpu':
        tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(tpu)
        tf.tpu.experimental.initialize_tpu_system(tpu)
    devices = tf.config.list_logical_devices(options.device_type)
    print(f'{options.device_type} devices:', end='')
    pprint(devices)

    # The optimizer
    optimizer = tf.keras.optimizers.SGD(learning_rate=1e-1)

    @tf.function
    def training_step(params: tf.Variable) -> None:
        """One step of gradient descent"""
        with tf.GradientTape() as t:
            # The loss
            loss = objective(params)
        # Its gradients
        grads = t.gradient(loss, params)
        # Update the parameters
        optimizer.apply_gradients([(grads, params)])
        # A `tf.print` of the parameters works here too.

    # Where to start
    tensor = tf.constant([1., 4.], dtype=tf.float32)

    # On the first device
    with tf.device(devices[0]):
        # The variable is there too
        params = tf.Variable(tensor, trainable=True)
        # The loop
        for _ in range(20):
            training_step(params)

    # The result
    print(f'{objective(params)} @ {params.numpy()}')


if __name__ == '__main__':
    main()
