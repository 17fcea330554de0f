"""Bytes are written as text and read back."""

import numpy as np

import stratax.tf as tf


def test_base64_is_that_of_urls_and_comes_back():
    written = tf.io.encode_base64(b"\xfb\xff?")
    assert np.asarray(written).item() == b"-_8_"
    assert np.asarray(tf.io.decode_base64(written)).item() == b"\xfb\xff?"
