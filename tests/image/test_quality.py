"""A random quality changes a photograph."""

import numpy as np
import pytest

from stratax import image
from stratax.errors import BadArgumentError


def test_a_random_quality_changes_a_photograph():
    pixels = np.random.default_rng(1).integers(0, 255, (16, 16, 3), np.uint8)
    first, again = (image.stateless_random_jpeg_quality(pixels, 5, 50, (1, 2)) for _ in range(2))
    assert first.dtype == np.uint8
    assert (first == again).all()
    assert (image.random_jpeg_quality(pixels, 5, 6) != pixels).any()
    with pytest.raises(BadArgumentError, match="smallest below the largest"):
        image.random_jpeg_quality(pixels, 50, 5)
