"""`tf.compat.v1.image.extract_glimpse`: TensorFlow 2.21's values."""

import numpy as np
import pytest

import stratax.tf as tf

IMAGE = np.arange(30, dtype=np.float32).reshape(1, 6, 5, 1)


@pytest.mark.parametrize(
    ("centered", "normalized", "place", "corner"),
    [
        (False, False, [2.0, 3.0], 2),
        (False, True, [0.5, 0.25], 5),
        (True, False, [0.5, 0.25], 6),
        (True, False, [2.0, 3.0], 13),
        (True, True, [0.0, 0.0], 6),
        (True, True, [0.5, 0.25], 17),
    ],
)
@pytest.mark.parametrize("uniform", [True, False])
def test_places_of_parts(centered, normalized, place, corner, uniform):
    found = tf.compat.v1.image.extract_glimpse(IMAGE, [3, 2], [place], centered, normalized, uniform)
    assert found[0, :, :, 0].tolist() == [[corner + 5 * row, corner + 5 * row + 1] for row in range(3)]


def test_outside_is_noise():
    found = tf.compat.v1.image.extract_glimpse(IMAGE, [3, 2], [[0.0, 0.0]], False, uniform_noise=False)
    assert np.asarray(found)[0, 1:, 1, 0].tolist() == [0, 5]
    noise = np.asarray(found)[0, 0, :, 0]
    assert ((noise >= 0) & (noise <= 29)).all()
