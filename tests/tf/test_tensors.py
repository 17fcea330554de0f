"""What importing `stratax.tf` sets up: JAX does not warn of each dtype of 64 bits."""

import warnings

import keras
import numpy as np

import stratax.tf as tf
from stratax.tf import _tensors


def test_nothing_warns_of_dtypes_of_64_bits():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        _tensors.leave_out_warnings()
        tf.zeros_like(tf.Variable(0, dtype=tf.int64))
        tf.random.normal([2], dtype=tf.float64)
        tf.keras.initializers.Constant(3)([2], dtype="int64")
        model = tf.keras.Sequential(
            [keras.Input((2,), dtype="float64"), keras.layers.Dense(1, dtype="float64")]
        )
        assert model(np.ones((1, 2))).shape == (1, 1)
