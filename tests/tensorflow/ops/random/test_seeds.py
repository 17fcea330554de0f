"""The seed of the program begins all draws anew."""

import numpy as np

import stratax.tf as tf


def test_the_same_seed_draws_the_same():
    def drawn():
        tf.random.set_seed(3)
        return [np.asarray(tf.random.uniform([2])).tolist() for _ in range(2)]

    first = drawn()
    assert first == drawn()
    assert first[0] != first[1]
