"""Makes `v1.npz`: what TensorFlow 1's functions give for `v1_cases.py`. `python make_v1.py`, with TensorFlow.

The file in the checkout is of TensorFlow 2.15.1, the last one that has Estimator, on a CPU.
"""

import json
import pathlib

import numpy as np
import tensorflow.compat.v1 as tf
import v1_cases


def main() -> None:
    """Writes the file."""
    found = {}
    for make in (decays, losses):
        with tf.Graph().as_default(), tf.Session() as session:
            found |= {f"{make.__name__}|{key}": value for key, value in make(session)}
    # One array for all: each entry of such a file has a header that is longer than most of these.
    shapes = {key: np.shape(value) for key, value in found.items()}
    values = np.concatenate([np.ravel(value) for value in found.values()]).astype(np.float32)
    index = np.frombuffer(json.dumps(shapes).encode(), np.uint8)
    np.savez_compressed(pathlib.Path(__file__).with_name("v1.npz"), index=index, values=values)


def decays(session):
    """The learning rate of each case."""
    made = {key: getattr(tf.train, name)(**arguments) for key, (name, arguments) in v1_cases.DECAYS.items()}
    yield from session.run(made).items()


def losses(session):
    """The loss of each case, and the gradient of its sum."""
    made = {}
    for key, (name, arguments, operand) in v1_cases.LOSSES.items():
        variable = tf.constant(arguments[operand])
        loss = getattr(tf.losses, name)(**{**arguments, operand: variable})
        made[key] = loss
        made[f"{key}|gradient"] = tf.gradients(loss, variable)[0]
    yield from session.run(made).items()


if __name__ == "__main__":
    main()
