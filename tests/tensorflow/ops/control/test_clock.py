"""The time, in seconds since 1970."""

import time

import numpy as np

import stratax.tf as tf


def test_the_time_is_that_of_the_process():
    before = time.time()
    now = float(np.asarray(tf.timestamp()))
    assert before - 1 <= now <= time.time() + 1
