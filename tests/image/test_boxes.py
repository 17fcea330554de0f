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
    zeros = np.array([[0.0, 0.0], [0.5, 1.0]], np.float32).repeat(8).reshape(1, 4, 4, 2)
    parts = image.extract_glimpse(zeros, [4, 4], np.ones((1, 2), np.float32))
    assert (parts[0, :2, :2] == zeros[0, 2:, 2:]).all()
    assert np.unique(parts[0, 2:]).size > 8


def test_glimpses_by_pixels_of_centered_places_begin_there():
    image_of_places = np.arange(30, dtype=np.float32).reshape(1, 6, 5, 1)
    found = [
        image.extract_glimpse(image_of_places, [3, 3], [place], normalized=False, noise="zero")[
            0, :, :, 0
        ].tolist()
        for place in ([0.5, -0.5], [-3.0, 1.0], [2.0, 3.0])
    ]
    assert found == [
        [[17, 18, 19], [22, 23, 24], [27, 28, 29]],
        [[3, 4, 0], [8, 9, 0], [13, 14, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]


def test_noise_has_the_range_of_its_image():
    images = np.random.default_rng(0).uniform(10, 20, (2, 5, 5, 2)).astype(np.float32)
    images[1] += 90
    images[..., 1] += 1000
    uniform = image.extract_glimpse(images, [40, 40], np.zeros((2, 2), np.float32))
    assert uniform[0].min() < 100
    assert (uniform[..., 0].reshape(2, -1).max(axis=1) > 900).all()
    rough = image.extract_glimpse(images, [40, 40], np.zeros((2, 2), np.float32), noise="gaussian")
    for part, whole in zip(rough, images, strict=True):
        assert (part.min(axis=(0, 1)) == whole.min(axis=(0, 1))).all()
        assert (part.max(axis=(0, 1)) == whole.max(axis=(0, 1))).all()
        np.testing.assert_allclose(part.mean(axis=(0, 1)), whole.mean(axis=(0, 1)), atol=0.5)
