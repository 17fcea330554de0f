"""Writes kmeans.npz: what TensorFlow 2.15 makes of `kmeans_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_kmeans
"""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from tests.golden import kmeans_cases


def answers(arguments):
    """Return what TensorFlow answers in one run."""
    with tempfile.TemporaryDirectory() as folder:
        return kmeans_cases.answers(tf, tf.compat.v1.estimator.experimental.KMeans, arguments, folder)


def main():
    """Write the numbers; whether centers were chosen is no variable of Stratax'."""
    found = {}
    for name, arguments in kmeans_cases.CASES.items():
        # Mini-batches of TensorFlow read variables while others of their operations write them: numbers differ between
        # runs.
        runs = [answers(arguments) for _ in range(9 if arguments.get("use_mini_batch", True) else 1)]
        texts = [repr(run["clusters"].tolist()) for run in runs]
        most_frequent = max(texts, key=texts.count)
        for key, value in runs[texts.index(most_frequent)].items():
            if key != "initialized":
                found[f"{name}|{key}"] = value
    np.savez_compressed(pathlib.Path(__file__).with_name("kmeans.npz"), **found)


if __name__ == "__main__":
    main()
