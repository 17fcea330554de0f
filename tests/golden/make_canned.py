"""Writes canned.npz: what TensorFlow 2.15's canned estimators make of `canned_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_canned
"""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow_estimator.python.estimator.canned import head

from tests.golden import canned_cases


def binary_head(thresholds):
    """TensorFlow 1's head, as its canned estimators use it."""
    return head._binary_logistic_head_with_sigmoid_cross_entropy_loss(
        thresholds=thresholds, loss_reduction=tf.compat.v1.losses.Reduction.SUM_OVER_BATCH_SIZE
    )


def main():
    """Write the numbers; hyperparameters that TensorFlow saves as variables are left out."""
    tf.compat.v1.glorot_uniform_initializer = lambda: canned_cases.first_value
    names = canned_cases.Names(tf.estimator, tf.compat.v1.estimator, tf.feature_column, tf.data, binary_head)
    found = {}
    for name, (make, labels) in canned_cases.cases(names).items():
        with tempfile.TemporaryDirectory() as folder:
            for key, value in canned_cases.answers(make, labels, tf.data, folder).items():
                if key.startswith("variable training/") and key.count("/") == 2:
                    continue
                array = np.asarray(value)
                found[f"{name}|{key}"] = array.astype("S8") if array.dtype == object else array
    np.savez_compressed(pathlib.Path(__file__).with_name("canned.npz"), **found)


if __name__ == "__main__":
    main()
