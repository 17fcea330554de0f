"""Write `seq2seq.npz` with what TensorFlow 1.15 gives for `seq2seq_cases.py`: `python make_seq2seq.py`, Python 3.7."""

import os

import numpy as np
import seq2seq_cases
import tensorflow as tf


def main():
    """Compute each case, with the names of its variables."""
    found = {}
    for name, case in seq2seq_cases.CASES.items():
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.variable_scope("model", initializer=seq2seq_cases.weights):
                made = seq2seq_cases.flat(case(tf))
            session.run(tf.global_variables_initializer())
            for index, value in enumerate(session.run(made)):
                found[f"{name}/{index}"] = value
            found[f"{name}/names"] = np.array([each.op.name for each in tf.global_variables()])
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "seq2seq.npz"), **found)


main()
