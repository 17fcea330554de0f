"""Writes rnn.npz: what TensorFlow 2.15's recurrent estimators make of `rnn_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_rnn
"""

import functools
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from tests.golden import rnn_cases


def main():
    """Write the numbers; hyperparameters that TensorFlow saves as variables are left out."""
    tf.keras.layers.Dense = functools.partial(tf.keras.layers.Dense, kernel_initializer=rnn_cases.first_value)
    found = {}
    for name, (make, labels) in rnn_cases.cases(tf, tf.keras.optimizers.legacy.SGD).items():
        with tempfile.TemporaryDirectory() as folder:
            for key, value in rnn_cases.answers(tf, make, labels, folder).items():
                if key.startswith("variable training/") and key.count("/") == 2:
                    continue
                array = np.asarray(value)
                found[f"{name}|{key}"] = array.astype("S8") if array.dtype == object else array
    np.savez_compressed(pathlib.Path(__file__).with_name("rnn.npz"), **found)


if __name__ == "__main__":
    main()
