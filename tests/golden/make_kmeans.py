"""Writes kmeans.npz: what TensorFlow 2.15 makes of `kmeans_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_kmeans
"""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from tests.golden import kmeans_cases


def main():
    """Write the numbers; whether centers were chosen is no variable of Stratax'."""
    found = {}
    for name, arguments in kmeans_cases.CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            kmeans = tf.compat.v1.estimator.experimental.KMeans
            for key, value in kmeans_cases.answers(tf, kmeans, arguments, folder).items():
                if key != "initialized":
                    found[f"{name}|{key}"] = value
    np.savez_compressed(pathlib.Path(__file__).with_name("kmeans.npz"), **found)


if __name__ == "__main__":
    main()
