"""Parts of images that are drawn at random, and what can't be compiled."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import image
from stratax.errors import BadTypeError

OBJECT = np.array([[[0.2, 0.3, 0.7, 0.8]]], np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.image.non_max_suppression(x, x[:, 0], 2),
        lambda x: tf.image.adjust_jpeg_quality(x, 50),
        lambda x: tf.image.sample_distorted_bounding_box(x, OBJECT),
    ],
)
def test_what_can_not_be_compiled_says_what_to_do_instead(function):
    with pytest.raises(BadTypeError, match=r"Use tf\.image\.non_max_suppression_padded|Dataset\.map"):
        tf.function(function)(tf.constant(np.ones((3, 4), np.float32)))


def test_noise_fills_what_a_glimpse_shows_of_the_outside():
    parts = image.extract_glimpse(np.zeros((1, 4, 4, 1), np.float32), [4, 4], np.ones((1, 2), np.float32))
    assert (parts[0, :2, :2] == 0).all()
    assert (parts[0, 2:] > 0).all()
    rough = image.extract_glimpse(
        np.zeros((1, 4, 4, 1), np.float32), [4, 4], np.ones((1, 2)), noise="gaussian"
    )
    assert (rough[0, 2:] < 0).any()
