"""Makes `layers.npz`: what TensorFlow 1's layers give for `layers_cases.py`. `python make_layers.py`, with TensorFlow.

The file in the checkout is of TensorFlow 2.15.1, the last one that has Estimator, on a CPU.
"""

import json
import pathlib

import layers_cases
import numpy as np
import tensorflow.compat.v1 as tf


def main() -> None:
    """Writes the numbers as JSON."""
    found = dict(forward()) | dict(statistics()) | dict(functions())
    shapes = {key: np.shape(value) for key, value in found.items()}
    flat = np.concatenate([np.ravel(value) for value in found.values()]).astype(np.float32)
    index = json.dumps({"shapes": shapes, "names": dict(names())}).encode()
    path = pathlib.Path(__file__).with_name("layers.npz")
    np.savez_compressed(path, index=np.frombuffer(index, np.uint8), values=flat)


def forward():
    """What each function gives."""
    for key, (name, shape, given) in layers_cases.CASES.items():
        with tf.Graph().as_default(), tf.Session() as session:
            result = getattr(tf.layers, name)(tf.constant(layers_cases.inputs(shape)), **given)
            session.run(tf.global_variables_initializer())
            yield key, session.run(result)


def statistics():
    """The results and the moving statistics of training, and a result of evaluation."""
    for key, (shape, given) in layers_cases.STATISTICS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, shape)
            layer = tf.layers.BatchNormalization(**given)
            trained, evaluated = layer(x, training=True), layer(x, training=False)
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            session.run(tf.global_variables_initializer())
            for step in range(3):
                feed = {x: layers_cases.inputs(shape, step) + step}
                yield f"{key}|{step}", session.run([trained, updates], feed)[0]
                yield f"{key}|{step}|mean", session.run(layer.moving_mean)
                yield f"{key}|{step}|variance", session.run(layer.moving_variance)
            yield f"{key}|evaluated", session.run(evaluated, feed)


def functions():
    """What functions of `tf.nn` give; of those that give several tensors the stack."""
    for key, (name, given) in layers_cases.NN.items():
        with tf.Graph().as_default(), tf.Session() as session:
            result = session.run(getattr(tf.nn, name)(**given))
            yield key, np.stack(result) if isinstance(result, list | tuple) else result


def names():
    """The names of the variables of each model."""
    arguments = (tf.layers, tf.variable_scope, tf.get_variable_scope, tf.AUTO_REUSE)
    for key, make in layers_cases.models(*arguments).items():
        with tf.Graph().as_default():
            make()
            yield key, [variable.op.name for variable in tf.global_variables()]


if __name__ == "__main__":
    main()
