"""Operations on the bits of whole numbers."""

import numpy as np

import stratax.tf as tf


def test_bits_are_combined_one_by_one():
    a, b = np.uint8([0b1100]), np.uint8([0b1010])
    assert np.asarray(tf.bitwise.bitwise_and(a, b)).tolist() == [0b1000]
    assert np.asarray(tf.bitwise.bitwise_or(a, b)).tolist() == [0b1110]
    assert np.asarray(tf.bitwise.bitwise_xor(a, b)).tolist() == [0b0110]
    assert np.asarray(tf.bitwise.left_shift(a, np.uint8([1]))).tolist() == [0b11000]
