"""Write `contrib.npz` with what TensorFlow 1.15 gives for `contrib_cases.py`: `python make_contrib.py`, Python 3.7."""

import os

import contrib_cases
import numpy as np
import tensorflow as tf


def main():
    """Compute each case twice: what it gives, and the variables behind it."""
    found = {}
    for name, (shape, case) in contrib_cases.CASES.items():
        with tf.Graph().as_default(), tf.Session() as session:
            made = case(tf, tf.constant(contrib_cases.inputs(shape)))
            session.run(tf.global_variables_initializer())
            updates = tf.get_collection("update_ops")
            found[f"{name}/first"], _ = session.run([made, updates])
            variables = tf.global_variables()
            found[f"{name}/names"] = np.array([each.op.name for each in variables])
            for index, value in enumerate(session.run(variables)):
                found[f"{name}/variable{index}"] = value
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "contrib.npz"), **found)


main()
